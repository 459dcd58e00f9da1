"""What the tests of the right-padding check run in their children; never imported by a test process itself."""

from __future__ import annotations

import json
import os
import traceback
from types import SimpleNamespace

from hotfix.models import fa2_right_padding_check as fix


def every_target(bed, target):
    """The fix's case and the same samples one at a time under eager attention, for each target in $TARGETS.

    Prints what was raised, by target, as the last line of stdout.
    """
    results, raised = {}, {}
    for key in os.environ["TARGETS"].split():
        module, _, qualname = key.partition(":")
        one = SimpleNamespace(module=module, qualname=qualname)
        try:
            results.update({f"{key} flash {name}": value for name, value in fix.case(bed, one).items()})
        except Exception as error:
            raised[key] = [type(error).__name__, str(error), traceback.format_exc()]
            continue
        results.update({f"{key} eager {name}": value for name, value in one_at_a_time(bed, one).items()})
    print(json.dumps(raised))
    return results


def one_at_a_time(bed, target):
    """What the case computes, without padding and with eager attention: one sample after the other."""
    import torch

    model = fix.build(bed, target, attn="eager")
    ran = [fix.run(bed, target, model, (length,), row) for row, length in enumerate(fix.LENGTHS)]
    return {
        "outputs": torch.cat([one["outputs"] for one in ran]),
        "loss": torch.stack([one["loss"] for one in ran]).sum(),
        **fix.gradients(model),
    }
