"""``BeamSearchScorer`` and the constraints are gone.

Symptom   ``ImportError: cannot import name 'BeamSearchScorer' from 'transformers'`` from open_clip (CoCa),
          transformers-stream-generator (Qwen-7B-Chat) and the stream generator of coqui's XTTS, most of which never
          use it.
Cause     Beam search was rewritten without scorers. 4.57.1 took ``BeamSearchScorer`` from the top level and from
          ``transformers.generation``; 5.0.0 removed the modules ``beam_search`` and ``beam_constraints``.
Releases  4.57.1 and later; the other names 5.0.0 and later
Upstream  open_clip#1129, transformers-stream-generator#15 (not put back)
Here      Up to 4.57.6 the class still exists, and its names are restored. In 5.x both modules are restored, with
          classes to import, compare with and inherit from. ``BeamScorer``, which has no code, is complete; building
          another class is an error with an explanation, since nothing would call it.
"""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names.refusing import hollow

FIX = Fix(
    title="ImportError: cannot import name 'BeamSearchScorer' from 'transformers'",
    kind="removed-api",
    upstream=("open_clip#1129", "transformers-stream-generator#15"),
    group="removed-names",
)

HOME = "transformers.generation"
GENERATE = (
    "generate(num_beams=...) searches with beams without it; code that calls it itself needs transformers 4.57.6."
)
CONSTRAINED = 'generate(..., custom_generate="transformers-community/constrained-beam-search") has constraints.'


@FIX.adds_made((f"{HOME}:beam_constraints", ">=5.0.0"), only_needed=True)
def beam_constraints(generation: Any) -> Any:
    """The module of the constraints."""
    from abc import ABC

    made = _module("beam_constraints")
    made.Constraint = hollow("Constraint", made.__name__, ABC, CONSTRAINED)
    for name in ("PhrasalConstraint", "DisjunctiveConstraint"):
        setattr(made, name, hollow(name, made.__name__, made.Constraint, CONSTRAINED))
    made.ConstraintListState = hollow("ConstraintListState", made.__name__, object, CONSTRAINED)
    return made


@FIX.adds_made((f"{HOME}:beam_search", ">=5.0.0"), only_needed=True)
def beam_search(generation: Any) -> Any:
    """The module of the scorers."""
    from abc import ABC, abstractmethod

    made = _module("beam_search")

    class BeamScorer(ABC):
        """The interface of a beam scorer."""

        @abstractmethod
        def process(self, input_ids: Any, next_scores: Any, next_tokens: Any, next_indices: Any, **kwargs: Any) -> Any:
            """Take the candidates of a step."""
            raise NotImplementedError

        @abstractmethod
        def finalize(
            self, input_ids: Any, next_scores: Any, next_tokens: Any, next_indices: Any, max_length: int, **kwargs: Any
        ) -> Any:
            """Return the finished hypotheses."""
            raise NotImplementedError

    BeamScorer.__module__, BeamScorer.__qualname__ = made.__name__, "BeamScorer"
    made.BeamScorer = BeamScorer
    for name, instead in (("BeamSearchScorer", GENERATE), ("ConstrainedBeamSearchScorer", CONSTRAINED)):
        scorer: Any = hollow(name, made.__name__, BeamScorer, instead)
        scorer.__abstractmethods__ = frozenset()  # so that the explanation is the error
        setattr(made, name, scorer)
    made.BeamHypotheses = hollow("BeamHypotheses", made.__name__, object, GENERATE)
    return made


PACKAGES = (HOME, "transformers")
SCORERS = ("BeamScorer", "ConstrainedBeamSearchScorer")
CONSTRAINTS = ("Constraint", "ConstraintListState", "DisjunctiveConstraint", "PhrasalConstraint")

FIX.exports(
    *((f"{package}:BeamSearchScorer", ">=4.57.1") for package in PACKAGES), leaf=f"{HOME}.beam_search", only_needed=True
)
for _names, _leaf in ((SCORERS, "beam_search"), (CONSTRAINTS, "beam_constraints")):
    FIX.exports(
        *((f"{package}:{name}", ">=5.0.0") for package in PACKAGES for name in _names),
        leaf=f"{HOME}.{_leaf}",
        only_needed=True,
    )


def _module(name: str) -> Any:
    made = ModuleType(f"{HOME}.{name}", "Names that are gone from this release of transformers.")
    made.__spec__ = ModuleSpec(made.__name__, None)
    return made
