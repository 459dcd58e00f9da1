"""4.37.0 has lost the names of pairs of outputs, such as ``SampleOutput``.

Symptom   ``ImportError: cannot import name 'SampleOutput' from 'transformers.generation.utils'``: XTTS, AllTalk, Coqui.
Cause     The annotations were removed together with the classes that they name, which 4.37.0 has as aliases.
Releases  4.37.0
Upstream  transformers#28649, first there again in 4.37.1
Here      The five names of 4.37.1, each for what models with and without an encoder return. From 5.0.0 on they are gone
          again: cached-property-and-small-names-removed.
"""

from __future__ import annotations

from typing import Any, Callable, Union

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'SampleOutput' from 'transformers.generation.utils'",
    kind="removed-api",
    upstream=("transformers#28649",),
    fixed_in="4.37.1",
    group="removed-names",
)


def _either(name: str) -> Callable[[Any], Any]:
    def made(utils: Any) -> Any:
        return Union[getattr(utils, f"{name}EncoderDecoderOutput"), getattr(utils, f"{name}DecoderOnlyOutput")]

    return made


for _name in ("GreedySearch", "Sample", "ContrastiveSearch", "BeamSearch", "BeamSample"):
    FIX.adds_made((f"transformers.generation.utils:{_name}Output", "==4.37.0"))(_either(_name))
