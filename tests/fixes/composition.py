"""Cases of `test_composition.py` on the testbed, unarmed: fixes that share a function, applied and reverted.

`CASE_MEETING` in the environment names the fixes.
"""

from __future__ import annotations

import os
import types
from functools import reduce
from importlib import import_module
from itertools import permutations
from typing import Any

import hotfix
from hotfix.fix import Fix


def meeting(testbed: Any, target: Any) -> dict[str, Any]:
    """Every fix alone, and all of them in several orders, in and out again; each entry must be true."""
    import torch

    os.environ["HOTFIX_OPTIN"] = os.environ["CASE_MEETING"]
    ids = os.environ["CASE_MEETING"].split(",")
    stock = _standing(target)
    alone = {}
    for id in ids:
        with hotfix.apply(only=[id]):
            name = f"{target.module}:{target.qualname}"
            here = [outcome.verdict.value for outcome in hotfix.report() if (outcome.fix, outcome.target) == (id, name)]
            if here != ["unaffected"]:  # by another version of a package than the others meet
                alone[id] = _codes(_standing(target))
    ids = list(alone)
    together, after, last, left = [], [], [], []
    for order in orders(ids):
        handles = [hotfix.apply(only=[id]) for id in order]
        together.append(_codes(_standing(target)))
        for handle in handles[:-1]:
            handle.revert()
        last.append(_codes(_standing(target)) == alone[order[-1]])
        handles[-1].revert()
        left.append(_standing(target) is stock)
        after.append(_codes(stock))
    facts = {
        "each changes it": len({*map(tuple, alone.values()), tuple(_codes(stock))}) == len(ids) + 1,
        "all of them change it more than one": len(ids) < 2 or together[0] not in alone.values(),
        "the order of coming makes no difference": all(codes == together[0] for codes in together),
        "the last that stays is as it is alone": all(last),
        "nothing is left": all(left) and all(codes == after[0] == _codes(stock) for codes in after),
    }
    return {name: torch.tensor(value) for name, value in facts.items()}


def orders(ids: list[str]) -> list[tuple[str, ...]]:
    """All orders of a few; of more, each first and last once, forwards and backwards."""
    if len(ids) <= 3:
        return list(permutations(ids))
    turned = [tuple(ids[number:] + ids[:number]) for number in range(len(ids))]
    return [*turned, *(order[::-1] for order in turned)]


def _standing(target: Any) -> Any:
    function = reduce(getattr, target.qualname.split("."), import_module(target.module))
    if isinstance(function, property):
        return function.fget
    return getattr(function, "__func__", function)  # a class method is another object at each access


def _codes(function: Any) -> list[Any]:
    """The code of a function and of those that it wraps, outermost first; fixes may share the code of a wrapper."""
    codes = [_code(function)]
    while function := getattr(function, "__wrapped__", None):
        codes.append(_code(function))
    return codes


def _code(function: Any) -> Any:
    contents = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    # A repair on an error keeps its function beside the release's own, in the wrapper around both.
    beside = (value.__code__ for value in contents if isinstance(value, types.FunctionType))
    return function.__code__, *beside, *(value.id for value in contents if isinstance(value, Fix))
