"""A flash-attn that was built for another torch makes every model unimportable, even for programs that do not use it.

Symptom   ``RuntimeError: Failed to import transformers.models.… because of the following error: …
          flash_attn_2_cuda….so: undefined symbol: …``, with ``sdpa`` and ``eager``, too.
Cause     The release concludes from metadata that flash-attn can be used, and imports it at the top of modules that
          every model needs: each modeling file up to 4.42, later a module that they share.
Releases  4.36.0 to 4.54.1
Upstream  huggingface/transformers#31793 and many reports to flash-attn; 4.55.0 imports it when it is called
Here      If the metadata says yes, flash-attn is imported once as a test. If that fails, it counts as missing, and one
          warning gives the reason; a request for ``flash_attention_2`` raises the import's own error. In 4.55.0,
          where no module imports flash-attn any more, the same functions decide; it differs from the releases before
          by a second name of triton's distribution.
"""

from __future__ import annotations

import ast
import importlib
from typing import Any

from hotfix import session
from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="A flash-attn built for another torch makes every model unimportable: undefined symbol",
    kind="loading",
    errors=(
        "RuntimeError: Failed to import transformers.models.…: …/flash_attn_2_cuda.….so: undefined symbol: …",
        "ImportError: …/flash_attn_2_cuda.….so: undefined symbol: …",
    ),
    everyone="only where flash-attn cannot be imported: the wrapper tests it",
    needs={"flash-attn": ">=2.1.0"},
    upstream=("transformers#31793",),
    fixed_in="4.55.0",
    prefilter="def is_flash_attn_2_available",
)

_UTILS = "transformers.utils.import_utils"
_MODEL = "transformers.modeling_utils:PreTrainedModel"
_DECIDERS = (f"{_UTILS}:is_flash_attn_2_available", f"{_UTILS}:_is_package_available")


@FIX.wraps(
    (f"{_UTILS}:is_flash_attn_2_available", ">=4.36.0,<=4.54.1"),
    fingerprint_of=("is_flash_attn_2_available", "_is_package_available"),
)
def that_can_be_imported(original: Any) -> Any:
    """Whether flash-attn is installed and can be imported; tested once."""
    importable: list[bool] = []

    def is_flash_attn_2_available() -> bool:
        if not original():
            return False
        if not importable:
            try:
                importlib.import_module("flash_attn")
            except Exception as error:  # of its own, of triton or of the loader
                sentence = f"{FIX.id}: flash-attn cannot be imported, and is not used: {type(error).__name__}: {error}"
                session.current().log.warn_once(sentence, FIX.id)
                importable.append(False)
            else:
                importable.append(True)
        return importable[0]

    return is_flash_attn_2_available


for _name, _releases in (
    ("_check_and_enable_flash_attn_2", ">=4.36.0,<=4.53.3"),
    ("_flash_attn_2_can_dispatch", ">=4.54.0,<=4.54.1"),
):
    FIX.edits(
        (f"{_MODEL}.{_name}", _releases),
        old='flash_attention_version = version.parse(importlib.metadata.version("flash_attn"))',
        new="""
            import flash_attn
            flash_attention_version = version.parse(importlib.metadata.version("flash_attn"))
            """,
        fingerprint_of=(f"PreTrainedModel.{_name}", *_DECIDERS),
    )


@FIX.recognises
def is_broken(*nodes: ast.FunctionDef) -> bool:
    """Whether the functions decide by metadata, as up to 4.57, and are older than 4.55."""
    by_name = {node.name: node for node in nodes}
    decides, looks = by_name.get("is_flash_attn_2_available"), by_name.get("_is_package_available")
    if decides is None or looks is None:
        return False
    by_metadata = 'version.parse(importlib.metadata.version("flash_attn")) >= version.parse("2.1.0")'
    return occurs(by_metadata, decides) and not occurs('pkg_name == "triton"', looks)
