"""Several cases in one process, the changes that hotfix made in it, and those left after a revert."""

from __future__ import annotations


def traced(testbed, target, **cases):
    """Run cases, then take all fixes out.

    Returns:
        The results of each case, as ``CASE: NAME``; and the counts of `tools.probes.untouched` in the target's module
        with the fixes in place, as ``armed: NAME``, and without, as ``reverted: NAME``.
    """
    import hotfix
    from tools.probes import untouched

    results = {case: run(testbed, target) for case, run in cases.items()}
    results["armed"] = untouched(testbed, target)
    hotfix.revert()
    results["reverted"] = untouched(testbed, target)
    return {f"{case}: {name}": value for case, result in results.items() for name, value in result.items()}
