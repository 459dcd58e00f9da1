"""Fast image processors and video processors refuse ``return_tensors="np"``.

Symptom   ``ValueError: Only returning PyTorch tensors is currently supported.``, from the fast image processors, which
          `AutoImageProcessor` chooses by default in later releases, and from the video processors.
Cause     The check of the arguments lets only ``"pt"`` pass.
Releases  4.42.0 to 5.3.0: ViT since 4.42.0, DETR since 4.46.1, all others since 4.47.0
Upstream  exo#1839 (first fixed in 5.4.0)
Here      After the error, the call is repeated with ``"pt"``, and each tensor of the result becomes an array, as in
          5.4.0. Other frameworks raise as before. A program that handles the error gets it.
"""

from __future__ import annotations

import ast
from collections.abc import MutableMapping
from typing import Any, Callable

from hotfix.fix import Fix

_BASE, _LATER, _EARLY = ">=4.49.0,<=5.3.0", ">=4.52.1,<=5.3.0", ">=4.47.0,<=4.48.3"
_PLACES = {
    "image_processing_utils_fast:BaseImageProcessorFast": _BASE,
    "video_processing_utils:BaseVideoProcessor": _LATER,
    "models.vit.image_processing_vit_fast:ViTImageProcessorFast": ">=4.42.0,<=4.48.3",
    "models.detr.image_processing_detr_fast:DetrImageProcessorFast": ">=4.46.0,<=4.48.3",
    "models.deformable_detr.image_processing_deformable_detr_fast:DeformableDetrImageProcessorFast": _EARLY,
    "models.rt_detr.image_processing_rt_detr_fast:RTDetrImageProcessorFast": _EARLY,
    "models.pixtral.image_processing_pixtral_fast:PixtralImageProcessorFast": _EARLY,
    "models.qwen2_vl.image_processing_qwen2_vl_fast:Qwen2VLImageProcessorFast": ">=4.49.0,<=4.53.3",
    "models.beit.image_processing_beit_fast:BeitImageProcessorFast": ">=4.52.1,<=4.53.3",
    "models.vitmatte.image_processing_vitmatte_fast:VitMatteImageProcessorFast": ">=4.52.1,<=4.53.3",
    "models.dpt.image_processing_dpt_fast:DPTImageProcessorFast": ">=4.53.0,<=4.53.3",
    "models.glm4v.image_processing_glm4v_fast:Glm4vImageProcessorFast": ">=4.53.0,<=4.53.3",
    "models.ernie4_5_vl_moe.video_processing_ernie4_5_vl_moe:Ernie4_5_VL_MoeVideoProcessor": ">=5.0.0,<=5.2.0",
    "models.ernie4_5_vl_moe.video_processing_ernie4_5_vl_moe:Ernie4_5_VLMoeVideoProcessor": "==5.3.0",
}

FIX = Fix(
    title='ValueError: Only returning PyTorch tensors is currently supported, for return_tensors="np"',
    kind="crash",
    upstream=("exo#1839",),
    fixed_in="5.4.0",
    errors=("ValueError: Only returning PyTorch tensors is currently supported.",),
    on_error=True,
    exempt={
        "transformers.models.depth_pro.image_processing_depth_pro:DepthProImageProcessor.preprocess": "it gives arrays",
    },
    prefilter="def preprocess(",
)


@FIX.wraps(*((f"transformers.{place}.preprocess", releases) for place, releases in _PLACES.items()))
def as_arrays(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call for tensors, whose result becomes arrays."""

    def preprocess(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("return_tensors") != "np":  # also true of the enumeration's member
            return original(self, *args, **kwargs)
        return _in_numpy(original(self, *args, **{**kwargs, "return_tensors": "pt"}))

    return preprocess


def _in_numpy(value: Any) -> Any:
    """A result whose tensors are arrays, at any depth; dictionaries keep their identity."""
    import torch  # a processor of pictures has imported it

    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if type(value) in (list, tuple):
        return type(value)(map(_in_numpy, value))
    if isinstance(value, MutableMapping):
        for key, part in list(value.items()):
            if (array := _in_numpy(part)) is not part:
                value[key] = array
    return value


_CHECKS = {
    "_validate_preprocess_kwargs",
    "_prepare_process_arguments",
    "validate_fast_preprocess_arguments",
    "_validate_input_arguments",
}


@FIX.recognises
def checks_for_tensors(definition: ast.AST) -> bool:
    """A `preprocess` that checks its arguments as fast image processors did before 5.4.0."""
    if not isinstance(definition, ast.FunctionDef) or definition.name != "preprocess":
        return False
    calls = [node.func for node in ast.walk(definition) if isinstance(node, ast.Call)]
    names = {getattr(called, "attr", getattr(called, "id", "")) for called in calls}
    return bool(names & _CHECKS) and "_standardize_kwargs" not in names
