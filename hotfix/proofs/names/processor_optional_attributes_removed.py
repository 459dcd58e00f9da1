"""The proof: a processor with options, and the names that its arguments inherit from."""

from typing import Any

import torch

from hotfix.names.processor_optional_attributes_removed import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '|TypeError: Unexpected keyword argument")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Inherit from the name; or build a processor as remote code does."""
    from typing import get_type_hints

    cls = ask(target)
    if "." not in target.qualname:
        hints = get_type_hints(cls)
        namespace: dict[str, Any] = {"inherited": cls}
        exec("class Heir(inherited, total=False):\n    more: int", namespace)
        return {
            "listed": listed(target),
            "keys": words(*sorted(hints), str(cls.__total__), cls.__name__, cls.__module__),
            "types": words(*(f"{key} {hints[key]}" for key in sorted(hints))),
            "defaults": words(*(f"{key} {getattr(cls, key, None)}" for key in sorted(hints))),
            "heir": words(*sorted(namespace["Heir"].__annotations__)),
        }

    class Processor(cls):  # type: ignore[misc,valid-type,unused-ignore]
        attributes = ("tokenizer",)
        optional_attributes = ("chat_template", "time_mode", "columns")
        tokenizer_class = "PreTrainedTokenizerFast"

        def __init__(
            self, tokenizer: Any = None, chat_template: Any = None, time_mode: str = "percent", **kwargs: Any
        ) -> None:
            super().__init__(tokenizer, chat_template=chat_template, time_mode=time_mode, **kwargs)

        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            return type(argument)

    def shown(processor: Any) -> str:
        return f"{processor.tokenizer} {processor.chat_template} {processor.time_mode} {processor.columns}"

    results = {
        "given": words(shown(Processor("t", chat_template="c", time_mode="seconds", columns=3))),
        "not given": words(shown(Processor(tokenizer="t"))),
    }
    for mistake in ({"rows": 1}, {"tokenizer": "u"}):
        try:
            Processor("t", **mistake)
        except TypeError as error:
            results[f"mistake {mistake}"] = words(type(error).__name__)
    return results
