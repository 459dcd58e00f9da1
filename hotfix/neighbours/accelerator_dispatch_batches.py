"""The Trainer gives Accelerate options for its data loaders that Accelerate 1.0 takes in another way.

Symptom   ``TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'`` (or
          ``'split_batches'``, ``'even_batches'``, ``'use_seedable_sampler'``) from the constructor of every Trainer.
Cause     ``dispatch_batches`` and its like are arguments of ``Accelerator`` before 1.0; from then on they are those of
          ``DataLoaderConfiguration`` alone.
Releases  4.36.0 to 4.39.3, with accelerate 1.0 or newer
Upstream  transformers#34699, transformers#34714; 4.40.0 is the first that makes a ``DataLoaderConfiguration``
Here      Where the constructor refuses them, its options for data loaders are passed as a ``DataLoaderConfiguration``,
          as in 4.40.0.
"""

from __future__ import annotations

import inspect
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'",
    kind="crash",
    needs={"accelerate": ">=1.0"},
    upstream=("transformers#34699", "transformers#34714"),
    fixed_in="4.40.0",
    errors=(
        "TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'",
        "TypeError: Accelerator.__init__() got an unexpected keyword argument 'split_batches'",
        "TypeError: Accelerator.__init__() got an unexpected keyword argument 'even_batches'",
        "TypeError: Accelerator.__init__() got an unexpected keyword argument 'use_seedable_sampler'",
    ),
)

REFUSED_SAMPLER = "TypeError: …got an unexpected keyword argument 'use_seedable_sampler'"
_MADE_HERE = "from hotfix.neighbours.accelerator_dispatch_batches import made\nself.accelerator = made(Accelerator, {})"
_BY_NAME = "dispatch_batches=__DISPATCH, split_batches=__SPLIT, **__OTHERS"
_FROM_SETTINGS = "deepspeed_plugin=__PLUGIN, gradient_accumulation_plugin=__STEPS, **__OTHERS"

FIX.edits(
    ("transformers.trainer:Trainer.create_accelerator_and_postprocess", ">=4.36.0,<=4.39.3"),
    alternatives=True,
    on_error=("TypeError: …got an unexpected keyword argument '…_batches'", REFUSED_SAMPLER),
    old=tuple(f"self.accelerator = Accelerator({arguments})" for arguments in (_BY_NAME, _FROM_SETTINGS)),
    new=tuple(_MADE_HERE.format(arguments) for arguments in (_BY_NAME, _FROM_SETTINGS)),
)


def made(kind: Any, **options: Any) -> Any:
    """An ``Accelerator`` with the options that an older one would take.

    Args:
        kind: the class.
        options: its arguments, and those that have gone to ``DataLoaderConfiguration``.
    """
    from accelerate.utils import DataLoaderConfiguration

    # `split_batches` is still an argument of the constructor, which ignores it.
    moved = inspect.signature(DataLoaderConfiguration).parameters
    settings = {name: options.pop(name) for name in [*options] if name in moved}
    return kind(dataloader_config=DataLoaderConfiguration(**settings), **options)
