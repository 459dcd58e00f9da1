"""The proof: what is installed, tensors of other frameworks, and the places of downloads."""

import torch

from hotfix.names.v5_utilities_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed

_OF_VALUES = ("is_tf_tensor", "is_tf_symbolic_tensor", "is_jax_tensor")


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import one, and ask it."""
    restored = ask(target)
    if isinstance(restored, str):
        return {"text": words(restored), "listed": listed(target)}
    if target.qualname in _OF_VALUES:
        answers = {
            "answers": torch.tensor([restored(value) for value in (1, "a", None, torch.ones(2), [torch.ones(2)])])
        }
    elif target.qualname == "infer_framework":
        answers = {"answers": words(*map(restored, _models())), "refused": words(_refused(restored))}
    else:
        answers = {"answer": torch.tensor(bool(restored()))}
    return {**answers, "listed": listed(target), "pickled": same_when_pickled(restored)}


def _models() -> list[type]:
    from transformers import BertModel, PreTrainedModel

    return [BertModel, PreTrainedModel, torch.nn.Linear, type("TFPreTrainedModel", (), {})]


def _refused(infer_framework: type) -> str:
    try:
        infer_framework(dict)
    except TypeError as error:
        return type(error).__name__
    return ""
