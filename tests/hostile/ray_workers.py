"""Two workers of Ray report whether hotfix is loaded in them, and which repairs it made there."""

from __future__ import annotations

import importlib
import json
from typing import Any

ray: Any = importlib.import_module("ray")


def work(number: int) -> tuple[bool, list[str]]:
    import sys

    from transformers.models.llama4 import modeling_llama4  # noqa: F401 - it has something to repair

    if "hotfix" not in sys.modules:
        return False, []
    import hotfix

    return True, sorted(row["fix"] for row in hotfix.report().to_dict()["outcomes"] if row["state"] == "applied")


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 1024 * 1024)
answers = ray.get([ray.remote(work).remote(number) for number in range(2)])
ray.shutdown()
print(json.dumps(answers))
