"""Cases for test_vision_states."""

from __future__ import annotations

from types import CodeType

import hotfix
from hotfix.proofs import zoo

ID = "vision-hidden-states-post-ln"


def features(testbed, target):
    """The output of LLaVA-OneVision's projector for two images, with the feature layer of its own configuration."""
    import torch
    from transformers import LlavaOnevisionConfig, LlavaOnevisionModel

    texts = {**zoo.TOWER_TEXT, "model_type": "qwen2", "num_key_value_heads": 2}
    config = LlavaOnevisionConfig(
        vision_config={**zoo.TOWER, "model_type": "siglip_vision_model"},
        text_config=texts,
        image_grid_pinpoints=[[8, 8]],
    )
    assert config.vision_feature_layer == -1
    model = testbed.model(LlavaOnevisionModel, config, attn="eager", dtype=torch.float32)
    sizes = torch.tensor([[8, 8], [8, 8]])
    images = model.get_image_features(testbed.randn(2, 2, 3, 8, 8), sizes, vision_feature_select_strategy="full")
    return {"features": torch.cat(list(images))}


def late_and_back(testbed, target):
    """A model that was built before hotfix, during it, and after it; each entry must be true."""
    import torch
    from transformers.models.siglip import modeling_siglip

    model = zoo.tower(testbed, modeling_siglip, "SiglipVisionModel")
    forward = model.forward
    wrapper = modeling_siglip.SiglipVisionModel.forward
    code = wrapper.__code__

    def tied(**kwargs):
        output = forward(**zoo.tower_inputs(testbed, "SiglipVisionModel"), output_hidden_states=True, **kwargs)
        last, _, states = output if kwargs else (output.last_hidden_state, None, output.hidden_states)
        return len(states) == 3 and bool(states[-1].equal(last))

    facts = {"tied before": tied(), "tied before, as a tuple": tied(return_dict=False)}
    with hotfix.apply(only=[ID]):
        facts["told to be late"] = any(outcome.late for outcome in hotfix.report() if "SiglipVision" in outcome.target)
        facts["free"] = not tied() and not tied(return_dict=False)
        facts["the same function"] = modeling_siglip.SiglipVisionModel.forward is wrapper
    facts["tied after"] = tied() and wrapper.__code__ is code
    return {name: torch.tensor(value) for name, value in facts.items()}


def others(testbed, target):
    """Models that keep their convention, beside one that is repaired: what the decorator has put around each."""
    import torch
    from transformers import Qwen2Config, Qwen2Model
    from transformers.models.siglip import modeling_siglip
    from transformers.utils import generic

    stock = [code for code in generic.check_model_inputs.__code__.co_consts if isinstance(code, CodeType)]
    model = testbed.model(Qwen2Model, Qwen2Config(**zoo.TOWER_TEXT, num_key_value_heads=2), "eager", torch.float32)
    output = model(testbed.randint(3, 64, 2, 6), output_hidden_states=True)
    facts = {
        "language models are tied": output.hidden_states[-1].equal(output.last_hidden_state),
        "and have the stock code": Qwen2Model.forward.__code__ in stock,
        "SigLIP's heads too": modeling_siglip.SiglipForImageClassification.forward.__code__ in stock,
        "SigLIP's towers have not": modeling_siglip.SiglipVisionModel.forward.__code__ not in stock,
    }
    return {name: torch.tensor(value) for name, value in facts.items()}
