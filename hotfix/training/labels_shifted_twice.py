"""Models shift their labels, and their loss shifts them again: they learn the token after the next one.

Symptom   Silent. The loss falls, and what the model writes stays wrong: it learns the token after the next one.
          Fine-tuned TrOCR and Donut repeat themselves, their accuracy stays at 0. The reported loss is not the cross
          entropy of the logits that come with it. In GIT, Moshi and JetMoe the last label of each text goes to the next
          text besides.
Cause     The loss for causal language models moves the labels by one. In encoder-decoders they are aligned with the
          logits, since the decoder gets them moved to the right; GIT, Moshi and JetMoe have moved them by hand.
Releases  VisionEncoderDecoder (TrOCR, Donut, Nougat) 4.50.0 to 4.57.6, Florence-2 4.56.0 to 5.12.1, Moonshine 4.48.0 to
          5.12.1 and its streaming relative 5.2.0 to 5.12.1, Cohere ASR 5.4.0 to 5.14.1, PP-FormulaNet 5.8.0 to 5.14.1,
          GIT 4.48.3 to 5.14.1, Moshi 4.48.3 to 5.16.1, JetMoe 4.48.3 to 4.53.3
Upstream  transformers#40863, transformers#42740, transformers#46784, transformers#46897, transformers#46903,
          transformers#47200, transformers#47395, transformers#48493; the fixed release differs by class
Here      The loss gets the labels as ``shift_labels``; up to 4.50.3, where it does not take them, both logits and
          labels get an additional position. The number of labels of a step goes to the loss as before. A
          ``loss_function`` that the user has set is called as before, and so is one that the user has put in the place
          of the library's. Where the user passes ``decoder_input_ids`` that are the labels, and not the labels moved to
          the right, the loss moves them, as in stock, and so it does if they show neither. Labels that the user has
          moved the other way, to make up for the bug, are recognized by ``input_ids`` (GIT, JetMoe, Moshi) and moved as
          in stock. With ``inputs_embeds`` or ``decoder_inputs_embeds`` nothing shows which labels the user means, and
          the loss moves them as in stock; so it does in `MoshiForConditionalGeneration`, whose decoder has no others.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="TrOCR, Donut, Florence-2, Moonshine and others learn the token after the next: labels are shifted twice",
    kind="silent",
    upstream=(
        "transformers#40863",
        "transformers#42740",
        "transformers#46784",
        "transformers#46897",
        "transformers#46903",
        "transformers#47200",
        "transformers#47395",
        "transformers#48493",
    ),
    fixed_in="5.17.0",  # the last of them; the table tells of each
    prefilter="self.loss_function(",
    everyone="only with the library's loss, and labels aligned with their logits: the new code tests both itself",
)

# Model, class, and the releases in which upstream has it wrong.
_ENCODER_DECODERS = (
    ("cohere_asr", "CohereAsrForConditionalGeneration", ">=5.4.0,<=5.14.1"),
    ("florence2", "Florence2ForConditionalGeneration", ">=4.56.0,<=5.12.1"),
    ("moonshine", "MoonshineForConditionalGeneration", ">=4.48.0,<=5.12.1"),
    ("moonshine_streaming", "MoonshineStreamingForConditionalGeneration", ">=5.2.0,<=5.12.1"),
    ("pp_formulanet", "PPFormulaNetForConditionalGeneration", ">=5.8.0,<=5.14.1"),
    ("vision_encoder_decoder", "VisionEncoderDecoderModel", ">=4.50.0,<=4.57.6"),
)
_MOVED_BY_HAND = (
    ("git", "GitForCausalLM", ">=4.48.3,<=5.14.1"),
    ("jetmoe", "JetMoeForCausalLM", ">=4.48.3,<=4.53.3"),
    ("moshi", "MoshiForCausalLM", ">=4.48.3,<=5.16.1"),
)

# The calls of the loss, which differ in further arguments.
_CALLS = tuple(
    f"loss = self.loss_function(logits=logits, labels=labels, vocab_size=__V{others})"
    for others in ("", ", **kwargs", ", num_items_in_batch=num_items_in_batch")
)
_CALLS_BY_HAND = (
    "loss = self.loss_function(shift_logits, shift_labels, vocab_size=__V, **kwargs)",
    "loss = self.loss_function(shifted_logits.view(-1, __V), labels.view(-1), vocab_size=__V, **kwargs)",
)


def _place(model: str, name: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{model}.modeling_{model}:{name}.forward", releases


def _aligned_calls(calls: Sequence[str], given: str = "") -> tuple[str, ...]:
    imported = "from hotfix.training._aligned import aligned\n"
    aligned_loss = f"aligned({FIX.id!r}, self.loss_function{given})"
    return tuple(imported + call.replace("self.loss_function", aligned_loss) for call in calls)


FIX.edits(
    *(_place(*row) for row in _ENCODER_DECODERS),
    old=_CALLS,
    new=_aligned_calls(_CALLS, ", decoder_input_ids, decoder_inputs_embeds"),
    alternatives=True,
)
FIX.edits(
    *(_place(*row) for row in _MOVED_BY_HAND),
    old=_CALLS_BY_HAND,
    new=_aligned_calls(_CALLS_BY_HAND, ", input_ids, inputs_embeds"),
    alternatives=True,
)


@FIX.recognises
def is_broken(forward: ast.AST) -> bool:
    """The labels have been moved by hand, or the logits are those of a decoder which gets them moved to the right."""
    if not isinstance(forward, ast.FunctionDef):
        return False
    if any(occurs(call, forward) for call in _CALLS_BY_HAND):
        return True
    # Q-Formers in front of a decoder alone take the same arguments; their loss is right to move the labels.
    names = {node.attr for node in ast.walk(forward) if isinstance(node, ast.Attribute)}
    takes = {argument.arg for argument in (*forward.args.args, *forward.args.kwonlyargs)}
    of_a_decoder = "decoder_input_ids" in takes and "use_decoder_only_language_model" not in names
    return of_a_decoder and any(occurs(call, forward) for call in _CALLS)
