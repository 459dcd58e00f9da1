"""The proof: encoders and a decoder use the methods."""

from typing import Any

import torch

from hotfix.names.v5_model_methods_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed

MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


@FIX.case(raises="AttributeError: .* has no attribute '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The results of one of them, for several inputs."""
    from transformers import BertConfig, BertModel

    kind = ask(target)
    settings: dict[str, Any] = {"vocab_size": 16, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(**settings, num_hidden_layers=1)
    encoder = testbed.fill(BertModel(config)).eval()
    decoder = testbed.fill(BertModel(BertConfig(**settings, num_hidden_layers=1, is_decoder=True))).eval()
    name = target.qualname.rpartition(".")[2]
    square = MASK[:, :, None] * MASK[:, None, :]
    if name == "get_extended_attention_mask":
        results = {
            "encoder": encoder.get_extended_attention_mask(MASK, (2, 5)),
            "three": encoder.get_extended_attention_mask(square, (2, 5)),
            "decoder": decoder.get_extended_attention_mask(MASK, (2, 5)),
            "cached": decoder.get_extended_attention_mask(MASK.float(), (2, 2)),
            "half": encoder.get_extended_attention_mask(MASK, (2, 5), dtype=torch.float16),
        }
    elif name == "invert_attention_mask":
        results = {"two": encoder.invert_attention_mask(MASK), "three": encoder.invert_attention_mask(square)}
    elif name == "create_extended_attention_mask_for_decoder":
        results = {
            "whole": decoder.create_extended_attention_mask_for_decoder((2, 5), MASK),
            "cached": BertModel.create_extended_attention_mask_for_decoder((2, 2), MASK.float()),
            "truth": decoder.create_extended_attention_mask_for_decoder((2, 5), MASK.bool()),
        }
    elif name == "freeze_feature_extractor":
        results = {"trained": _trained(kind)}
    elif name == "model_parallel":
        results = {"parallel": torch.tensor(_of_layers(kind).model_parallel)}
    elif name == "warnings_issued":
        results = {"kept": torch.tensor(_keeps_warnings(encoder)), "other": torch.tensor(len(decoder.warnings_issued))}
    elif name == "_prepare_encoder_decoder_kwargs_for_generation":
        results = _encoded(testbed)
    elif name == "framework":
        results = {"name": words(encoder.framework)}
    else:
        numbers = [getattr(encoder, name)({"input_ids": MASK}), getattr(encoder, name)({})]
        results = {"numbers": torch.tensor(numbers)}
    return results


def _encoded(testbed: Testbed) -> dict[str, torch.Tensor]:
    """What the encoder of a T5 makes of tokens."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=16, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2, decoder_start_token_id=0)
    model = testbed.fill(T5ForConditionalGeneration(config)).eval()
    prepare = model._prepare_encoder_decoder_kwargs_for_generation
    tokens = torch.tensor([[3, 4, 5]])
    whole = prepare(tokens, {"attention_mask": torch.tensor([[1, 1, 0]])}, "input_ids", model.generation_config)
    return {"state": whole["encoder_outputs"].last_hidden_state, "mask": whole["attention_mask"]}


def _keeps_warnings(model: Any) -> list[bool]:
    """Whether a warning that is switched off, as TRL does, stays so, and is no parameter or buffer."""
    is_empty = not model.warnings_issued
    model.warnings_issued["estimate_tokens"] = True
    return [is_empty, model.warnings_issued["estimate_tokens"], "warnings_issued" in model.state_dict()]


def _trained(kind: Any) -> torch.Tensor:
    """Which parameters of a model of speech are trained after the call."""
    small: dict[str, Any] = {"vocab_size": 16, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    small.update(
        num_hidden_layers=1, conv_dim=(8, 8), conv_kernel=(4, 4), conv_stride=(2, 2), num_feat_extract_layers=2
    )
    small.update(num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2)
    model = kind(kind.config_class(**small))
    model.freeze_feature_extractor()
    return torch.tensor([part.requires_grad for _, part in sorted(model.named_parameters())])


def _of_layers(kind: Any) -> Any:
    """A small model that had a map of its layers."""
    from copy import deepcopy

    config = deepcopy(kind.config_class())
    widths = ("d_model", "d_ff", "n_embd", "hidden_size", "embed_dim")
    config.update({name: 8 for name in widths if hasattr(config, name)})
    numbers = ("num_layers", "num_decoder_layers", "n_layer", "num_heads", "n_head", "rotary_dim")
    config.update({name: 2 for name in numbers if hasattr(config, name)})
    config.update({"vocab_size": 16, "d_kv": 4} if hasattr(config, "d_kv") else {"vocab_size": 16})
    config.update({"pad_token_id": 0, "num_labels": 2})
    return kind(config)
