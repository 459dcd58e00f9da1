"""``hotfix verify``: the proof of each fix, run on this node, before and after, in fresh processes (`child`)."""
