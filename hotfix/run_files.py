"""The data model of what a run has left in files, as a trigger is asked of it (`hotfix.trigger.Trigger.in_files`).

The standard library only, and nothing is read here: `hotfix.commands.run_folder` does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional


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
        for one in (self.config, self.config.get("text_config")):
            if isinstance(one, dict) and name in one:
                return one[name]
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
