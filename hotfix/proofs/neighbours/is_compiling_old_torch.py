"""What the targets compute as with torch 2.2, whose ``torch.compiler`` has no ``is_compiling``."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import numpy
import torch

from hotfix.neighbours.is_compiling_old_torch import FIX
from hotfix.proofs.processing._pictures import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import picture


@FIX.case(
    raises="AttributeError: module 'torch.compiler' has no attribute 'is_compiling'",
    packages=PACKAGES,
    oracles={"transformers.models.rt_detr.modeling_rt_detr:RTDetrModel.generate_anchors": "4.49.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The function of the target runs while torch lacks the other one."""
    if target.qualname.startswith("RTDetr"):
        return _detector(testbed)
    return _decoder(testbed) if target.qualname.startswith("Csm") else _resized()


@contextmanager
def _old_torch() -> Iterator[None]:
    """Torch as before 2.3; the modules of the release are imported already."""
    kept = torch.compiler.is_compiling
    del torch.compiler.is_compiling
    try:
        yield
    finally:
        torch.compiler.is_compiling = kept


def _detector(testbed: Testbed) -> dict[str, torch.Tensor]:
    from transformers import RTDetrConfig, RTDetrResNetConfig
    from transformers.models.rt_detr.modeling_rt_detr import RTDetrForObjectDetection

    backbone = RTDetrResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 8, 8],
        depths=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
        layer_type="basic",
    )
    config = RTDetrConfig(
        backbone_config=backbone,
        encoder_hidden_dim=16,
        encoder_in_channels=[8, 8, 8],
        feat_strides=[8, 16, 32],
        encoder_layers=1,
        encoder_ffn_dim=16,
        encoder_attention_heads=2,
        d_model=16,
        num_queries=5,
        decoder_in_channels=[16, 16, 16],
        decoder_ffn_dim=16,
        decoder_layers=1,
        decoder_attention_heads=2,
        num_denoising=0,
    )
    model = testbed.fill(RTDetrForObjectDetection(config)).to(testbed.device).eval()
    pixels = testbed.randn(2, 3, 64, 64, seed=1)
    with _old_torch():
        first, second = model(pixel_values=pixels), model(pixel_values=pixels)
    return {"logits": first.logits, "boxes": first.pred_boxes, "again": second.logits}


def _decoder(testbed: Testbed) -> dict[str, torch.Tensor]:
    from transformers.models.csm.configuration_csm import CsmDepthDecoderConfig
    from transformers.models.csm.modeling_csm import CsmDepthDecoderModel

    config = CsmDepthDecoderConfig(
        num_codebooks=4,
        backbone_hidden_size=16,
        vocab_size=11,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
    )
    model = testbed.fill(CsmDepthDecoderModel(config)).to(testbed.device).eval()
    ids = testbed.randint(0, 11, 2, 3, seed=1)
    with _old_torch():
        plain = model(input_ids=ids, use_cache=False)
        placed = model(input_ids=ids, position_ids=torch.arange(3, device=ids.device)[None], use_cache=False)
    return {"plain": plain.last_hidden_state, "with positions": placed.last_hidden_state}


def _resized() -> dict[str, torch.Tensor]:
    processor = import_module("transformers").CLIPImageProcessorFast()
    image = torch.from_numpy(numpy.asarray(picture(40, 56)).copy()).permute(2, 0, 1)
    with _old_torch():
        return {"pixels": processor(image, return_tensors="pt")["pixel_values"]}
