"""The proof: a Trainer is built with the new name, and with the old one."""

from typing import Any

import torch

from hotfix.neighbours.trainer_processing_class_missing import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*unexpected keyword argument 'processing_class'|AttributeError: .*'processing_class'",
    packages={"accelerate": "0.33.0", "flash-attn": None},  # one for all of these releases
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Build both trainers, and ask for the attribute."""
    import tempfile
    from dataclasses import replace

    from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer, default_data_collator

    class Processing:
        """A tokenizer for a Trainer that does not train."""

        model_input_names = ("input_ids",)

    def has(cls: Any, arguments: Any, **given: Any) -> list[str]:
        model = torch.nn.Linear(2, 2)
        trainer = cls(model=model, args=replace(arguments), data_collator=default_data_collator, **given)
        return [str(getattr(trainer, "processing_class", None) is expected) for expected in (Processing, None)]

    with tempfile.TemporaryDirectory() as folder:
        arguments = Seq2SeqTrainingArguments(output_dir=folder, use_cpu=True, report_to=[])
        said = []
        for cls in (Trainer, Seq2SeqTrainer):
            said += has(cls, arguments, processing_class=Processing)
            said += has(cls, arguments)
    return {"told": words(*said)}
