"""README.md for the package index: there, links and pictures of this repository need its address."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """Hands over README.md with absolute links; their address is `Source` in [project.urls]."""

    def update(self, metadata: dict) -> None:
        """Set the text that describes the project on an index."""
        address = metadata.get("urls", {}).get("Source", "").rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        if not address:  # the repository has no public address yet
            metadata["readme"] = {"content-type": "text/markdown", "text": text}
            return
        # Pictures link to the raw file, pages to the host's rendered page.
        text = re.sub(r'(\b(?:src|srcset)=")(?!\w+:)', rf"\g<1>{address}/raw/HEAD/", text)
        text = re.sub(r"(!\[[^\]]*\]\()(?!\w+:|#)", rf"\g<1>{address}/raw/HEAD/", text)
        text = re.sub(r"(?<!!)(\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?!\w+:|#)", rf"\g<1>{address}/blob/HEAD/", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
