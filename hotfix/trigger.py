"""The data model of triggers: on which calls of a broken function its bug gives a wrong result.

A trigger stands in `hotfix.triggers`, in the folder and under the name of its fix, or beside the fix of a plugin, as
``TRIGGER``. It is loaded where it is asked for alone: where a run is observed (``HOTFIX_MODE=observe``), where repaired
calls are counted (``HOTFIX_COUNT=1``), and by ``hotfix audit``. Nothing here looks at what is installed, and nothing is
read: the files of a run (`Files`) are read by `hotfix.commands.audit.run_folder`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar


@dataclass(frozen=True)
class Said:
    """One thing that one file says.

    Attributes:
        name: of the attribute of `Files`.
        value: what it says.
        file: which file, relative to the folder.
    """

    name: str
    value: Any
    file: str


@dataclass(frozen=True)
class Files:
    """What the files of a run say. What they do not say, or do not agree on, is None.

    Attributes:
        folder: where they are.
        release: the release of transformers that is asked about.
        releases: every release that is named.
        model_types: ``model_type`` of the configuration and of those in it.
        architectures: classes of the model, as in config.json; of an adapter that of its base.
        config: config.json; empty where there is none.
        processor: preprocessor_config.json; empty where there is none.
        tokenizer: tokenizer_config.json; empty where there is none.
        own_code: whether the model comes as code of its own, of which nothing is known.
        is_adapter: whether it is an adapter, and the weights of its base are elsewhere.
        by_trainer: True where a Trainer of transformers has trained it.
        accumulation_steps: micro-batches that are accumulated for one step.
        batch_size: samples that a device gets at once in training.
        processes: how many processes have trained it.
        parallel: how, in the words of the Trainer: ``multi-GPU``.
        deepspeed: True where DeepSpeed has written the checkpoint.
        dtype: of the weights as they were saved: ``bfloat16``.
        attention: ``eager``, ``sdpa``, ``flash_attention_2``.
        sliding_window: tokens that a token sees; 0 where the model has no window, or does not use it.
        max_positions: tokens that the model is made for.
        packages: versions of what was installed beside, by name.
        said: everything, with the file that says it.
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
        """A value of config.json, or of the configuration of the text in it; None where neither has the name."""
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
"""What the attributes are called where they are shown, in this order."""


HOME = "hotfix.triggers"

Condition = Callable[["Call"], Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Call:
    """One call of a function, as a trigger sees it.

    Args:
        target: ``module:qualname`` of the function.
        names: of its parameters, in their order.
        values: what it was given for each of them, with the defaults.
        owner: the object or class that it is a method of; None for a function.
        extra: name of the parameter that takes all other named arguments (``**kwargs``); empty where there is none.
    """

    __slots__ = ("_extra", "_names", "_values", "owner", "target")

    def __init__(self, target: str, names: Sequence[str], values: Sequence[Any], owner: Any, extra: str = "") -> None:
        self.target = target
        self.owner = owner
        self._names = names
        self._values = values
        self._extra = extra

    def get(self, name: str, default: Any = None) -> Any:
        """The argument of a name, among ``**kwargs`` as well; the default where the call has none.

        Args:
            name: of a parameter, or of an argument in ``**kwargs``.
            default: what is returned if there is neither.
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
        """The names of the arguments; in place of that of ``**kwargs`` those in it."""
        yield from (name for name in self._names if name != self._extra)
        yield from self._others

    @property
    def _others(self) -> Mapping[str, Any]:
        return self._values[list(self._names).index(self._extra)] if self._extra else {}


@dataclass(frozen=True)
class Trigger:
    """When the bug of one fix strikes.

    Attributes:
        fix: id of the fix.
        when: on which calls the bug gives a wrong result, as part of a sentence that begins with "it strikes when";
            None where no condition can be told: then all that is reported is that the function was reached.
        wrong: what is wrong with the result, as part of a sentence.
        why_not: why no condition can be told, as a sentence; where `when` is None.
        every: asked on every call, or, where the answer costs something, on every n-th.
        while_repaired: whether it tells the same where the bug is repaired: not so where it looks at what the repair
            changes. Only then are calls counted under ``HOTFIX_COUNT=1``.
        conditions: what is asked of a call, by ``module:qualname``; ``*`` is for all targets of the fix.
        files: what is asked of the files that a run has left; None where they tell nothing. See `in_files`.
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
            raise ValueError(f"{self.fix}: a trigger has a condition (when=), or says why not (why_not=)")
        if self.when is not None and not self.wrong:
            raise ValueError(f"{self.fix}: a trigger says what is wrong with the result (wrong=)")
        if self.every < 1:
            raise ValueError(f"{self.fix}: every={self.every}: a trigger is asked on every call, or on every n-th")

    def strikes(self, *targets: str) -> Callable[[_Function], _Function]:
        """The decorated function takes a `Call` and says whether this call gives a wrong result.

        It returns True, False, or None where it cannot tell; what it raises is counted as "could not be told", too, and
        harms nobody. It has to be cheap, and may not wait for a device: it looks at shapes, flags and configurations.
        Where only the numbers in a tensor decide, it returns a tensor with one truth value, which is read when the
        device has come to it.

        Args:
            targets: ``module:qualname`` of the functions whose calls it is asked of; all targets of the fix if none.
                One that is no target of the fix is observed as soon as a target of it has turned out to be broken: the
                step of a training, where what is broken is the constructor of its model.

        Raises:
            ValueError: another condition is there for one of them.
        """

        def decorate(condition: _Function) -> _Function:
            for target in targets or ("*",):
                if target in self.conditions:
                    raise ValueError(f"{self.fix}: there are two conditions for {target}")
                self.conditions[target] = condition
            return condition

        return decorate

    def in_files(self, question: _Function) -> _Function:
        """The decorated function takes what the files of a run say, and tells whether the condition was met.

        It returns True if the files say so, False if they exclude it, None if they do not tell.
        """
        self._files[:] = [question]
        return question

    @property
    def files(self) -> Optional[Callable[[Any], Optional[bool]]]:
        """What is asked of files, or None."""
        return self._files[0] if self._files else None

    def condition(self, target: str) -> Optional[Condition]:
        """What is asked of the calls of a function, or None where they are counted alone.

        Args:
            target: ``module:qualname``.
        """
        return self.conditions.get(target) or self.conditions.get("*")

    @property
    def places(self) -> tuple[str, ...]:
        """The functions that are named in it."""
        return tuple(place for place in self.conditions if place != "*")


def load(fix: str, module: str) -> Optional[Trigger]:
    """The trigger of a fix, or None where it has none.

    Args:
        fix: its id.
        module: the module that defines it; that of a plugin may have a ``TRIGGER``.

    Raises:
        TypeError: ``TRIGGER`` is not one of this fix.
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
    # A plugin calls its fix by the name that it has among its own.
    if not isinstance(trigger, Trigger) or trigger.fix not in (fix, fix.partition(":")[2]):
        raise TypeError(f"TRIGGER in {loaded.__name__} is no trigger of {fix}")
    return trigger
