"""Encoder-decoders take the number of labels of a step from the Trainer and ignore it, and nobody divides their loss.

Symptom   Silent. With ``gradient_accumulation_steps=N`` loss and gradients of T5, BART, Whisper and their relatives are
          N times too large. (In 5.2.0 to 5.5.3 Accelerate divides as well: there the gradients are right, and the
          reported loss is not.)
Cause     That of ga-loss-kwargs-swallowed-vlm, in the classes that got their ``**kwargs`` in 5.0.0.
Releases  5.0.0 and later
Upstream  transformers#47688, transformers#47690: not repaired, so this is off by default. The case is compared
          with 4.57.6.
Here      As there. Encoders (BERT and others, for classification and for masked tokens) have the bug in the same
          releases, and are left as they are.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix
from hotfix.training._swallowed import declared_mean, place, swallows, take_back
from hotfix.training.ga_loss_kwargs_swallowed_vlm import FIX as REPAIRED_UPSTREAM

FIX = Fix(
    title="Loss and gradients of encoder-decoders are gradient_accumulation_steps times too large",
    kind="silent",
    upstream=("transformers#47688", "transformers#47690"),
    optin="upstream has not repaired it",
    prefilter="labels is not None",
    exempt={
        **REPAIRED_UPSTREAM.exempt,
        **{
            f"{target.module}:{target.qualname.rpartition('.')[0]}": f"{REPAIRED_UPSTREAM.id} repairs it."
            for target in REPAIRED_UPSTREAM.targets
        },
    },
)

for _words in (
    "bart BartForConditionalGeneration",
    "bigbird_pegasus BigBirdPegasusForConditionalGeneration",
    "blenderbot BlenderbotForConditionalGeneration",
    "blenderbot_small BlenderbotSmallForConditionalGeneration",
    "fsmt FSMTForConditionalGeneration",
    "led LEDForConditionalGeneration",
    "longt5 LongT5ForConditionalGeneration",
    "m2m_100 M2M100ForConditionalGeneration",
    "marian MarianMTModel",
    "mbart MBartForConditionalGeneration",
    "mt5 MT5ForConditionalGeneration",
    "mvp MvpForConditionalGeneration",
    "nllb_moe NllbMoeForConditionalGeneration",
    "pegasus PegasusForConditionalGeneration",
    "pegasus_x PegasusXForConditionalGeneration",
    "plbart PLBartForConditionalGeneration",
    "speech_to_text Speech2TextForConditionalGeneration",
    "switch_transformers SwitchTransformersForConditionalGeneration",
    "t5 T5ForConditionalGeneration",
    "umt5 UMT5ForConditionalGeneration",
    "whisper WhisperForConditionalGeneration",
):
    FIX.edits((f"{place(_words)}.__init__", ">=5.0.0"), fingerprint_of=(_words.split()[1],))(declared_mean)


@FIX.recognises
def is_broken(model: ast.AST) -> bool:
    """The class swallows the number."""
    return swallows(model)


FIX.cleans_up(take_back)
