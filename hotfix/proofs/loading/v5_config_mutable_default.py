"""The proof: configurations as Janus and DeepSeek-VL have them."""

from typing import Any

import torch

from hotfix.loading.v5_config_mutable_default import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


class AttrDict(dict):  # type: ignore[type-arg]
    """A stand-in for a dictionary, as these projects have it."""


@FIX.case(
    raises="ValueError: mutable default <class 'dict'> for field params is not allowed: use default_factory",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The values of a configuration with its own constructor, of one without, and of its subclass."""
    from transformers import PretrainedConfig

    class Own(PretrainedConfig):
        model_type = "own"
        cls: str = ""
        params: AttrDict = {}  # type: ignore[assignment]  # noqa: RUF012

        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.cls = kwargs.get("cls", "")
            self.params = AttrDict(kwargs.get("params", {}))

    class Plain(PretrainedConfig):
        model_type = "plain"
        width: int = 4
        sizes: list[int] = [1, 2]  # noqa: RUF012
        params: dict[str, int] = {}  # noqa: RUF012

    class More(Plain):
        model_type = "more"
        depth: int = 2

    made = (
        Own(),
        Own(cls="X", params={"a": 1}),
        Plain(),
        Plain(width=5, params={"b": 2}),
        Plain(sizes=[3]),
        More(depth=3, sizes=[4]),
    )
    values = []
    for config in made:
        own = {name: getattr(config, name, None) for name in ("cls", "params", "width", "sizes", "depth")}
        values.append(str(own))
        kept = config.to_dict()
        values.append(str({name: kept[name] for name in ("params", "sizes") if name in kept}))
    values.append(str([Plain.sizes is More.sizes, Plain().sizes is Plain.sizes]))
    values.append(str(list(Own.__annotations__)))
    return {"values": words(*values)}
