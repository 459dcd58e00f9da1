"""The proof: arguments by the new name, by the old one, changed, and without."""

from typing import Any

import torch

from hotfix.neighbours.training_args_eval_strategy_missing import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="unexpected keyword argument 'eval_strategy'",
    packages={"accelerate": "0.33.0", "flash-attn": None},  # one for all of these releases
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The evaluation strategy in the arguments."""
    from transformers import Seq2SeqTrainingArguments, TrainingArguments

    def said(cls: Any, **given: Any) -> list[str]:
        arguments = cls(output_dir="unused", use_cpu=True, report_to=[], **given)
        before = arguments.eval_strategy
        arguments.eval_strategy = type(before)("epoch")
        return [before.value, arguments.eval_strategy.value, str(arguments.eval_steps), str(arguments.do_eval)]

    strategies = []
    for cls in (TrainingArguments, Seq2SeqTrainingArguments):
        strategies += said(cls, eval_strategy="steps", logging_steps=7)
        strategies += said(cls, evaluation_strategy="epoch")
        strategies += said(cls, eval_strategy="no", evaluation_strategy="epoch")
        strategies += said(cls)
    return {"told": words(*strategies)}
