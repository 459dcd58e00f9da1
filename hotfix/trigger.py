"""The data model of triggers: on which calls of a broken function its bug gives a wrong result.

The trigger of a fix is ``TRIGGER`` in `hotfix.triggers`, in the folder and under the name of the fix; a plugin has it
in the module of its fix. It is loaded only on request: when a run is observed (``HOTFIX_MODE=observe``), when repaired
calls are counted (``HOTFIX_COUNT=1``), and by ``hotfix audit``. This module inspects no installation and reads no file:
`hotfix.commands.audit.run_folder` reads the files of a run (`Files`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar


@dataclass(frozen=True)
class Said:
    """One fact from one file.

    Attributes:
        name: the attribute of `Files`.
        value: the value.
        file: the file, relative to the folder.
    """

    name: str
    value: Any
    file: str


@dataclass(frozen=True)
class Files:
    """The facts in the files of a run. A fact is None if no file has it or if the files disagree.

    Attributes:
        folder: the folder of the files.
        release: the release of transformers that the audit is about.
        releases: every release that a file names.
        model_types: ``model_type`` of the configuration and of nested configurations.
        architectures: classes of the model, as in config.json; for an adapter, those of its base.
        config: config.json; empty if there is none.
        processor: preprocessor_config.json; empty if there is none.
        tokenizer: tokenizer_config.json; empty if there is none.
        own_code: whether the model has its own code, about which nothing is known.
        is_adapter: whether it is an adapter, with the weights of its base elsewhere.
        by_trainer: True if a Trainer of transformers has trained it.
        accumulation_steps: micro-batches per optimizer step.
        batch_size: samples per device and micro-batch in training.
        processes: number of training processes.
        parallel: the kind of parallelism, as the Trainer names it: ``multi-GPU``.
        deepspeed: True if DeepSpeed has written the checkpoint.
        dtype: dtype of the saved weights: ``bfloat16``.
        attention: ``eager``, ``sdpa``, ``flash_attention_2``.
        sliding_window: number of tokens that a token attends to; 0 if the model has no window or does not use it.
        max_positions: maximum number of positions.
        packages: versions of other installed packages, by name.
        said: all facts, each with its file.
    """

    folder: Path
    release: str = ""
    releases: tuple[str, ...] = ()
    model_types: frozenset[str] = frozenset()
    architectures: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    processor: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    own_code: Optional[bool] = None
    is_adapter: Optional[bool] = None
    by_trainer: Optional[bool] = None
    accumulation_steps: Optional[int] = None
    batch_size: Optional[int] = None
    processes: Optional[int] = None
    parallel: Optional[str] = None
    deepspeed: Optional[bool] = None
    dtype: Optional[str] = None
    attention: Optional[str] = None
    sliding_window: Optional[int] = None
    max_positions: Optional[int] = None
    packages: Mapping[str, str] = field(default_factory=dict)
    said: tuple[Said, ...] = ()

    def setting(self, name: str) -> Any:
        """A value of config.json, or of ``text_config`` in it; None if neither has the name."""
        for config in (self.config, self.config.get("text_config")):
            if isinstance(config, dict) and name in config:
                return config[name]
        return None


FACTS = {
    "model_types": "model type",
    "architectures": "architecture",
    "own_code": "code of its own",
    "is_adapter": "adapter",
    "by_trainer": "trained by the Trainer",
    "accumulation_steps": "accumulation steps",
    "batch_size": "batch size per device",
    "processes": "processes",
    "parallel": "distributed type",
    "deepspeed": "DeepSpeed",
    "dtype": "dtype",
    "attention": "attention",
    "sliding_window": "sliding window",
    "max_positions": "maximum of positions",
}
"""The names of the attributes in reports, in this order."""


HOME = "hotfix.triggers"

Condition = Callable[["Call"], Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Call:
    """One call of a function, as a trigger sees it.

    Args:
        target: ``module:qualname`` of the function.
        names: the names of its parameters, in their order.
        values: the argument of each parameter, or its default.
        owner: the object or class that the method belongs to; None for a function.
        extra: name of the parameter for all other keyword arguments (``**kwargs``); empty if there is none.
    """

    __slots__ = ("_extra", "_names", "_values", "owner", "target")

    def __init__(self, target: str, names: Sequence[str], values: Sequence[Any], owner: Any, extra: str = "") -> None:
        self.target = target
        self.owner = owner
        self._names = names
        self._values = values
        self._extra = extra

    def get(self, name: str, default: Any = None) -> Any:
        """The argument with a name, also from ``**kwargs``.

        Args:
            name: name of a parameter, or of an argument in ``**kwargs``.
            default: the result if there is neither.
        """
        for known, value in zip(self._names, self._values):
            if known == name:
                return value
        return self._others.get(name, default)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._others

    def __iter__(self) -> Iterator[str]:
        """The names of the arguments, including those in ``**kwargs``."""
        yield from (name for name in self._names if name != self._extra)
        yield from self._others

    @property
    def _others(self) -> Mapping[str, Any]:
        return self._values[list(self._names).index(self._extra)] if self._extra else {}


@dataclass(frozen=True)
class Trigger:
    """When the bug of one fix is triggered.

    Attributes:
        fix: id of the fix.
        when: on which calls the bug gives a wrong result, as part of a sentence that begins with "it is triggered
            when"; None if no condition is known. Reports then say only that the function was called.
        wrong: the error in the result, as part of a sentence.
        why_not: why no condition is known, as a sentence, if `when` is None.
        every: how often the condition is evaluated: on every call, or, if that is expensive, on every n-th.
        while_repaired: whether the condition has the same result while the bug is repaired; not if it looks at
            something that the repair changes. Otherwise calls are not counted under ``HOTFIX_COUNT=1``.
        conditions: the condition on a call, by ``module:qualname``; ``*`` is for all targets of the fix.
        files: the condition on the files of a run; None if they cannot decide it. See `in_files`.
    """

    fix: str
    when: Optional[str] = None
    wrong: str = ""
    why_not: str = ""
    every: int = 1
    while_repaired: bool = True
    conditions: dict[str, Condition] = field(default_factory=dict)
    _files: list[Callable[[Any], Optional[bool]]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if (self.when is None) is not bool(self.why_not):
            raise ValueError(
                f"{self.fix}: a trigger needs a condition (when=), or the reason why it has none (why_not=)"
            )
        if self.when is not None and not self.wrong:
            raise ValueError(f"{self.fix}: a trigger needs the error in the result (wrong=)")
        if self.every < 1:
            raise ValueError(f"{self.fix}: every={self.every}: this must be 1 (every call) or more (every n-th call)")

    def strikes(self, *targets: str) -> Callable[[_Function], _Function]:
        """The decorated function takes a `Call` and returns whether this call gives a wrong result.

        It returns True, False, or None if it cannot decide; an error counts as None and has no other effect. It must be
        cheap and must not wait for a device, so it looks at shapes, flags and configurations. If only the numbers in a
        tensor decide, it returns a tensor with one truth value, which is read once the device has computed it.

        Args:
            targets: ``module:qualname`` of the functions whose calls it judges; all targets of the fix if none. A
                function that is not a target is observed once a target of the fix is known to be broken. An example is
                the training step, if the constructor of the model is broken.

        Raises:
            ValueError: one of them has a condition already.
        """

        def decorate(condition: _Function) -> _Function:
            for target in targets or ("*",):
                if target in self.conditions:
                    raise ValueError(f"{self.fix}: there are two conditions for {target}")
                self.conditions[target] = condition
            return condition

        return decorate

    def in_files(self, question: _Function) -> _Function:
        """The decorated function takes the `Files` of a run and returns whether the condition was met.

        It returns True if the files show it, False if they exclude it, None if they do not decide it.
        """
        self._files[:] = [question]
        return question

    @property
    def files(self) -> Optional[Callable[[Any], Optional[bool]]]:
        """The condition on files, or None."""
        return self._files[0] if self._files else None

    def condition(self, target: str) -> Optional[Condition]:
        """The condition on calls of a function, or None if its calls are only counted.

        Args:
            target: ``module:qualname``.
        """
        return self.conditions.get(target) or self.conditions.get("*")

    @property
    def places(self) -> tuple[str, ...]:
        """The functions that have a condition of their own."""
        return tuple(place for place in self.conditions if place != "*")


def load(fix: str, module: str) -> Optional[Trigger]:
    """The trigger of a fix, or None if it has none.

    Args:
        fix: id of the fix.
        module: the module that defines the fix; in a plugin, it may have a ``TRIGGER``.

    Raises:
        TypeError: ``TRIGGER`` belongs to another fix.
    """
    package, _, name = module.partition(".")
    if package == __name__.partition(".")[0]:
        wanted = f"{HOME}.{name}"
        try:
            loaded = import_module(wanted)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{wanted}.".startswith(f"{error.name}."):
                raise
            return None
    else:
        loaded = import_module(module)
    trigger = getattr(loaded, "TRIGGER", None)
    if trigger is None:
        return None
    # A plugin uses the id without its own name in front.
    if not isinstance(trigger, Trigger) or trigger.fix not in (fix, fix.partition(":")[2]):
        raise TypeError(f"TRIGGER in {loaded.__name__} is not a trigger of {fix}")
    return trigger
