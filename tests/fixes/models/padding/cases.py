"""Cases that the tests of the right-padding check run in their children; no test process imports this module."""

from __future__ import annotations

import json
import os
import traceback
from importlib import import_module
from types import SimpleNamespace

from hotfix.proofs.models import fa2_right_padding_check as fix
from hotfix.proofs.zoo import cached_class


def every_target(testbed, target):
    """Run each target in $CASE_TARGETS in each of the ways in $CASE_WAYS (names of functions below).

    Results are called "target way name". The last line of stdout says what was raised, by "target way".
    """
    results, raised = {}, {}
    for key in os.environ["CASE_TARGETS"].split():
        module, _, qualname = key.partition(":")
        simple_namespace = SimpleNamespace(module=module, qualname=qualname)
        for way in os.environ["CASE_WAYS"].split():
            try:
                results.update(
                    {f"{key} {way} {name}": value for name, value in globals()[way](testbed, simple_namespace).items()}
                )
            except Exception as error:
                raised[f"{key} {way}"] = [type(error).__name__, str(error), traceback.format_exc()]
    print(json.dumps(raised))
    return results


def flash(testbed, target):
    """The fix's own case."""
    return fix.case(testbed, target)


def without_cache(testbed, target):
    """The same, where the check does not come into play."""
    model = fix.build(testbed, target)
    return {**fix.run(testbed, target, model, fix.LENGTHS, use_cache=False), **fix.gradients(model)}


def eager(testbed, target):
    """The same without padding and without flash attention: one sample after the other."""
    import torch

    model = fix.build(testbed, target, attn="eager")
    ran = [fix.run(testbed, target, model, (length,), row) for row, length in enumerate(fix.LENGTHS)]
    return {
        "outputs": torch.cat([result["outputs"] for result in ran]),
        "loss": torch.stack([result["loss"] for result in ran]).sum(),
        **fix.gradients(model),
    }


def elsewhere(testbed, target):
    """The logits of the real tokens where the padding is on the left, and where it is on both sides."""
    import torch

    model = fix.build(testbed, target)
    longest, results = max(fix.LENGTHS), {}
    ids = testbed.randint(3, 32, len(fix.LENGTHS), longest, seed=1)
    for name, width, offset in ("left", longest, longest), ("both", longest + 3, longest + 1):
        given, mask = torch.zeros(2, len(ids), width, dtype=torch.long, device=ids.device)
        for row, length in enumerate(fix.LENGTHS):
            given[row, offset - length : offset] = ids[row, :length]
            mask[row, offset - length : offset] = 1
        results[name] = model(input_ids=given, attention_mask=mask, use_cache=True).logits[mask.bool()]
    return results


def saved(testbed, target):
    """Write the case's model to $CASE_CHECKPOINTS.

    Where a release lays weights out anew, it has to convert them itself.
    """
    fix.build(testbed, target).save_pretrained(_checkpoint(target))
    return {}


def loaded(testbed, target):
    """The case, with the weights that `saved` has written."""
    import torch

    module = import_module(target.module)
    cls = getattr(module, cached_class(target.qualname.partition(".")[0]))
    model = cls.from_pretrained(_checkpoint(target), attn_implementation="flash_attention_2", dtype=torch.bfloat16)
    return {**fix.run(testbed, target, model.eval(), fix.LENGTHS), **fix.gradients(model)}


def _checkpoint(target):
    return os.path.join(os.environ["CASE_CHECKPOINTS"], target.qualname)
