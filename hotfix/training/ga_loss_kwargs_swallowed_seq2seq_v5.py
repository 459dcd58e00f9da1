"""Encoder-decoders take the number of labels of a step from the Trainer and ignore it, and nobody divides their loss.

Symptom   Silent. With ``gradient_accumulation_steps=N`` loss and gradients of T5, BART, Whisper and their relatives are
          N times too large. (In 5.2.0 to 5.5.3 Accelerate divides as well: there the gradients are right, and the
          reported loss is not.)
Cause     That of ga-loss-kwargs-swallowed-vlm, in the classes that got their ``**kwargs`` in 5.0.0.
Releases  5.0.0 to 5.23.0
Upstream  transformers#47688, transformers#47690: not repaired, so this is off unless it is asked for. The case is held
          against 4.57.6.
Here      As there. Encoders (BERT and others, for classification and for masked tokens) have the bug in the same
          releases, and are left as they are.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix
from hotfix.training._swallowed import compared, declared_mean, swallows
from hotfix.training.ga_loss_kwargs_swallowed_vlm import FIX as REPAIRED_UPSTREAM

if TYPE_CHECKING:
    import ast

    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="ga-loss-kwargs-swallowed-seq2seq-v5",
    title="Loss and gradients of encoder-decoders are gradient_accumulation_steps times too large",
    kind="silent",
    upstream=("transformers#47688", "transformers#47690"),
    optin=True,
    prefilter="labels is not None",
    exempt={
        **REPAIRED_UPSTREAM.exempt,
        **{
            f"{target.module}:{target.qualname.rpartition('.')[0]}": f"{REPAIRED_UPSTREAM.id} repairs it."
            for target in REPAIRED_UPSTREAM.targets
        },
    },
)

_T5 = {
    "vocab_size": 64,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 1,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "dropout_rate": 0.0,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}
_BART = {
    "vocab_size": 64,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
_EXPERTS = {"num_experts": 1, "router_jitter_noise": 0.0}
_SOUND = {"max_source_positions": 16, "max_target_positions": 64, "num_mel_bins": 8}

# The classes, and what makes a small model of each: the configuration is called as the class, up to "For" or "MT".
_CONFIGS: dict[str, dict[str, Any]] = {
    "bart:BartForConditionalGeneration": _BART,
    "bigbird_pegasus:BigBirdPegasusForConditionalGeneration": {**_BART, "attention_type": "original_full"},
    "blenderbot:BlenderbotForConditionalGeneration": _BART,
    "blenderbot_small:BlenderbotSmallForConditionalGeneration": _BART,
    "fsmt:FSMTForConditionalGeneration": {
        **_BART,
        "langs": ["en", "de"],
        "src_vocab_size": 64,
        "tgt_vocab_size": 64,
    },
    "led:LEDForConditionalGeneration": {
        **_BART,
        "max_encoder_position_embeddings": 64,
        "max_decoder_position_embeddings": 64,
        "attention_window": [4],
    },
    "longt5:LongT5ForConditionalGeneration": {**_T5, "local_radius": 4},
    "m2m_100:M2M100ForConditionalGeneration": _BART,
    "marian:MarianMTModel": _BART,
    "mbart:MBartForConditionalGeneration": _BART,
    "mt5:MT5ForConditionalGeneration": _T5,
    "mvp:MvpForConditionalGeneration": _BART,
    "nllb_moe:NllbMoeForConditionalGeneration": {
        **_BART,
        "num_experts": 2,
        "encoder_sparse_step": 0,
        "decoder_sparse_step": 0,
    },
    "pegasus:PegasusForConditionalGeneration": _BART,
    "pegasus_x:PegasusXForConditionalGeneration": {**_BART, "block_size": 4, "num_global_tokens": 4},
    "plbart:PLBartForConditionalGeneration": _BART,
    "speech_to_text:Speech2TextForConditionalGeneration": {
        **_BART,
        **_SOUND,
        "conv_channels": 16,
        "input_feat_per_channel": 8,
    },
    "switch_transformers:SwitchTransformersForConditionalGeneration": {**_T5, **_EXPERTS},
    "t5:T5ForConditionalGeneration": _T5,
    "umt5:UMT5ForConditionalGeneration": _T5,
    "whisper:WhisperForConditionalGeneration": {**_BART, **_SOUND},
}

# 5.4.0 refuses its own defaults: it declares integers where they are truth values.
_INTEGERS = {
    "M2M100ForConditionalGeneration": {"scale_embedding": 1},
    "MBartForConditionalGeneration": {"scale_embedding": 0},
    "MvpForConditionalGeneration": {"is_encoder_decoder": 1},
}

for _key in _CONFIGS:
    _model, _class = _key.split(":")
    FIX.edits(
        (f"transformers.models.{_model}.modeling_{_model}:{_class}.__init__", ">=5.0.0"), fingerprint_of=(_class,)
    )(declared_mean)


@FIX.recognises
def is_broken(model: ast.AST) -> bool:
    """The class swallows the number."""
    return swallows(model)


@FIX.case(packages={"accelerate": "1.15.0", "flash-attn": None}, oracles={"*": "4.57.6"}, tolerance={"float64": 1e-4})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A tiny model of the target's class: four micro-batches of one sample, and one batch of four."""
    module, name = import_module(target.module), target.qualname.partition(".")[0]
    return compared(partial(build, testbed, module, name), samples(testbed, name))


def build(testbed: Testbed, module: Any, name: str) -> Any:
    """The tiny model of a class in the table."""
    config = getattr(module, f"{name.removesuffix('MTModel').partition('For')[0]}Config")
    arguments = next(arguments for key, arguments in _CONFIGS.items() if key.endswith(f":{name}"))
    if import_module("transformers").__version__ == "5.4.0":
        arguments = {**arguments, **_INTEGERS.get(name, {})}
    return testbed.fill(getattr(module, name)(config(**arguments)))


def samples(testbed: Testbed, name: str) -> list[dict[str, Any]]:
    """Four samples with equally many labels each."""
    columns = {"labels": testbed.randint(5, 48, 4, 8, seed=2), "input_ids": testbed.randint(5, 48, 4, 8, seed=1)}
    if name.startswith(("Whisper", "Speech2Text")):
        del columns["input_ids"]
        columns["input_features"] = testbed.randn(4, 8, 32) if name.startswith("Whisper") else testbed.randn(4, 32, 8)
    return [{key: column[row].cpu() for key, column in columns.items()} for row in range(4)]
