"""Applies and reverts fixes many times on a real release, for test_revert. Arguments: how often, and fix ids."""

from __future__ import annotations

import gc
import json
import sys
import types

import transformers.models.qwen2_5_vl.modeling_qwen2_5_vl  # type: ignore[import-not-found, unused-ignore]
import transformers.trainer  # type: ignore[import-not-found, unused-ignore]  # noqa: F401

import hotfix


def objects() -> dict[tuple[str, ...], tuple[int, int]]:
    """The identity of every name, and of its code, in every loaded transformers module and its classes."""
    identities: dict[tuple[str, ...], tuple[int, int]] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "transformers" and isinstance(module, types.ModuleType):
            for key, value in list(vars(module).items()):
                identities[name, key] = id(value), id(getattr(value, "__code__", None))
                if isinstance(value, type) and value.__module__ == name:
                    for member, held in list(vars(value).items()):
                        identities[name, key, member] = id(held), id(getattr(held, "__code__", None))
    return identities


def main(times: int, ids: list[str]) -> None:
    """Apply and revert, and print the observations."""
    with hotfix.apply():  # apply all once: modules that this imports stay imported
        pass
    before, counts, applied = objects(), [], set()
    for number in range(times):
        with hotfix.apply(only=ids):
            if number % 100 == 0:
                applied |= {outcome.fix for outcome in hotfix.report() if outcome.state.value == "applied"}
        if number % 100 == 99:
            gc.collect()
            counts.append(len(gc.get_objects()))
    print(json.dumps({"same": objects() == before, "counts": counts, "applied": sorted(applied)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
