"""``download_url`` is gone from ``transformers.utils``, and pipelines do not say their framework.

Symptom   ``ImportError: cannot import name 'download_url' from 'transformers.utils'``; ``AttributeError: '…Pipeline'
          object has no attribute 'framework'``, from custom pipelines.
Cause     Files are read from the Hub, and PyTorch is the only framework.
Releases  5.0.0 and later
Upstream  granite-tsfm#493 (not put back)
Here      A file is downloaded into a temporary one, whose path is returned. The framework is ``"pt"``.
"""

from __future__ import annotations

import shutil
import tempfile
import urllib.request
from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'download_url' from 'transformers.utils'",
    kind="removed-api",
    upstream=("granite-tsfm#493",),
    group="removed-names",
)


@FIX.adds(("transformers.utils.hub:download_url", ">=5.0.0"), exported_by=("transformers.utils",))
def download_url(url: str, proxies: Optional[dict[str, str]] = None) -> str:
    """Download a file.

    Args:
        url: its address, with http or https.
        proxies: addresses of proxies, by scheme; without them those of the environment.

    Returns:
        The path of a temporary file, which stays.

    Raises:
        ValueError: the address has another scheme.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"download_url needs an address with http or https, not {url!r}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    with opener.open(url) as answer, tempfile.NamedTemporaryFile(delete=False) as file:
        shutil.copyfileobj(answer, file)
    return file.name


@FIX.adds_made(("transformers.pipelines.base:Pipeline.framework", ">=5.0.0"), of_instances=True)
def framework(pipelines: Any) -> property:
    """The only one."""
    return property(lambda pipeline: "pt")
