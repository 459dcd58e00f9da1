"""Ray: a cluster that is running already gets hotfix by a hook in each worker."""

from __future__ import annotations

import ray

ray.init(runtime_env={"worker_process_setup_hook": "hotfix.apply"})


@ray.remote
def digest() -> str:
    """The patch set of a worker."""
    import transformers.trainer_utils  # noqa: F401

    import hotfix

    return hotfix.digest()


digests = set(ray.get([digest.remote() for _ in range(8)]))
assert len(digests) == 1, f"the workers do not agree: {digests}"
print(f"all workers run patch set {digests.pop()}")
