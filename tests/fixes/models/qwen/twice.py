"""A case in one process twice: half of the time goes into loading."""

from __future__ import annotations

import hotfix

IN_PLACE: list[str] = []
"""The fixes that are in place now. A case that catches an error must not do so then: the program would handle it."""


def before_and_after(*fixes):
    """Run a case in one process twice: as the release is, and with fixes that come late."""

    def decorate(case):
        def twice(testbed, target):
            before = case(testbed, target)
            with hotfix.apply(only=fixes):
                IN_PLACE.extend(fixes)
                after = case(testbed, target)
                IN_PLACE.clear()
            return {
                **{f"before: {name}": value for name, value in before.items()},
                **{f"after: {name}": value for name, value in after.items()},
            }

        return twice

    return decorate
