"""``AutoFeatureExtractor`` does not load the image processor of a model.

Symptom   ``AutoFeatureExtractor.from_pretrained("google/vit-base-patch16-224")``, as was usual until 4.26, does not
          recognize the feature extractor, and asks for ``feature_extractor_type``.
Cause     For a model of pictures, ``AutoFeatureExtractor`` gave its feature extractor, another name of its image
          processor. 5.0.0 removed these classes.
Releases  5.0.0 and later
Upstream  transformers#41174 (not put back)
Here      After the error, the model's image processor is loaded: the one based on pillow, as before, unless the caller
          chooses. If there is none, or the program handles the error, it is raised.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AutoFeatureExtractor does not recognize the feature extractor of a model of pictures, such as ViT",
    kind="removed-api",
    upstream=("transformers#41174",),
    errors=(
        "ValueError: Unrecognized feature extractor in …. Should have a `feature_extractor_type` key in its "
        "preprocessor_config.json of config.json, or one of the following `model_type` keys in its config.json: …",
    ),
    on_error=True,
)


@FIX.wraps(("transformers.models.auto.feature_extraction_auto:AutoFeatureExtractor.from_pretrained", ">=5.0.0"))
def or_image_processor(original: Callable[..., Any]) -> Callable[..., Any]:
    """The image processor, after the error."""

    def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        from transformers.models.auto import image_processing_auto

        choice: dict[str, Any] = {}
        if not {"use_fast", "backend"} & kwargs.keys():  # the backends came with 5.4.0
            has_backends = hasattr(image_processing_auto, "_resolve_backend")
            choice = {"backend": "pil"} if has_backends else {"use_fast": False}
        try:
            processors = image_processing_auto.AutoImageProcessor
            return processors.from_pretrained(pretrained_model_name_or_path, **kwargs, **choice)
        except Exception:  # that the model has no image processor is not what the program asked for
            return original(cls, pretrained_model_name_or_path, **kwargs)

    return from_pretrained


@FIX.recognises
def knows_no_pictures(function: ast.AST) -> bool:
    """The method from after the classes were removed, together with the old name of the token."""
    text = ast.unparse(function)
    return "FEATURE_EXTRACTOR_MAPPING" in text and "use_auth_token" not in text
