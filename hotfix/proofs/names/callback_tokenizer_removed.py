"""The proof: a step is trained with a callback that needs the tokenizer, and the handler is asked for it."""

from typing import Any

import torch

from hotfix.names.callback_tokenizer_removed import FIX
from hotfix.proofs.names._training import PACKAGES
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import one_step
from hotfix.proofs.zoo import small_llama, texts


@FIX.case(
    raises="(AttributeError: .* has no attribute 'tokenizer'|TypeError: .*missing 1 required .* 'tokenizer')",
    packages=PACKAGES,
    oracles={"*": "4.45.2"},
    with_fixes=("accelerator-dispatch-batches",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the callback and its handler know of the tokenizer."""
    if target.qualname.endswith(".tokenizer"):
        return _asked()
    from transformers import TrainerCallback

    seen: list[Any] = []

    class Old(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, model: Any, tokenizer: Any, **kwargs: Any) -> None:
            seen.append((tokenizer, kwargs["optimizer"] is not None, model is not None))

    def with_callback(trainer: Any) -> type:
        class Own(trainer):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                self.add_callback(Old())

        return Own

    with trained_with(with_callback):
        one_step(small_llama(testbed), texts(testbed))
    return {"seen": torch.tensor([[tokenizer is None, *others] for tokenizer, *others in seen])}


def _asked() -> dict[str, torch.Tensor]:
    from transformers.trainer_callback import CallbackHandler

    handler = CallbackHandler([], None, "first", None, None)
    before = handler.tokenizer
    handler.tokenizer = "second"
    after = vars(handler).get("processing_class", vars(handler).get("tokenizer"))
    return {"same": torch.tensor([before == "first", handler.tokenizer == "second", after == "second"])}
