"""A case in one process twice: half of the time goes into loading."""

from __future__ import annotations

import hotfix


def before_and_after(*fixes):
    """Run a case in one process twice: as the release is, and with fixes that come late."""

    def decorate(case):
        def twice(testbed, target):
            before = case(testbed, target)
            with hotfix.apply(only=fixes):
                after = case(testbed, target)
            return {
                **{f"before: {name}": value for name, value in before.items()},
                **{f"after: {name}": value for name, value in after.items()},
            }

        return twice

    return decorate
