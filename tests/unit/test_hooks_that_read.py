"""A hook that corrects an output must not count as one that only looks at it: the repair would correct it again."""

from __future__ import annotations

import types

import pytest

from hotfix.patching import hooks

READS = (
    "kept.append(output)",
    "kept.append(output.detach().cpu())",
    'kept["a"] = output',
    "print(output.shape, output.mean())",
    "sums[0] += output.sum().item()",
    'log.info("%s", output.abs().max())',
    "if isinstance(output, tuple):\n        output = output[0]\n    kept.append(output.float().mean())",
    'if torch.isnan(output).any():\n        print("NaN")',
    "first = output[0].detach()\n    kept.append(first.view(-1)[:10].tolist())",
    'kept["k"] = output.detach().clone()',
    "output.requires_grad_(True)",
    "module.kept = output",
    'rows = output["logits"].shape[0]\n    sizes.append(rows)',
    "kept.append(output.loss.item())",
    "sizes.extend([part.shape for part in output])",
    'kept["in"] = args\n    kept["out"] = output\n    times.append(time.perf_counter())',
    "total = sum(part.numel() for part in output)\n    print(total)",
    'module.kept["out"] = output.detach()',
    "module.kept = output[0]\n    module.seen = 1",
)
WRITES = (
    "output *= 2",
    "args[0].mul_(2)",
    "output.data = 3",
    "changed = output\n    changed += 1",
    "torch.mul(output, 2, out=output)",
    "scale(output)",
    "scale(states=output)",
    "scale(*[output])",
    'scale(**{"states": output})',
    "module.scale(output)",
    "scaler.hook(module, args, output)",
    "torch._foreach_mul_([output], 2)",
    "torch.Tensor.mul_(output[..., :3], 2)",
    "torch.nn.init.zeros_(output)",
    'setattr(output, "data", 3)',
    "for part in [output[..., :2]]:\n        part *= 2",
    "for row in output:\n        row[..., :2] *= 3",
    "for states in (output, args[0]):\n        states /= 3",
    "(lambda states: states.mul_(2))(output)",
    "scale = lambda: output.mul_(2)\n    scale()",
    "if module.training:\n        loss = output.loss\n    else:\n        loss = None\n    if loss:\n        loss /= 4",
    "loss = output.loss if module.training else None\n    if loss is not None:\n        loss.div_(4)",
    "output.update(loss=0)",
    'output["past"].append(1)',
    "args[0].reverse()",
    'del output["logits"]',
    "module.kept = output\n    module.kept.loss /= 2",
    "kept.append(output.loss)\n    kept[0].mul_(2)",
    "output.loss.register_hook(scale)",
    "[part.mul_(2) for part in output]",
    "[scale(part) for part in output]",
    "print(sum(part.mul_(2).numel() for part in output))",
    "print({part: part.zero_() for part in output})",
    "max([output], key=lambda states: states.mul_(2).sum())",
    "sorted([output], key=torch.relu_)",
    "output.__imul__(2)",
    'exec("output.mul_(2)")',
    "module.kept = output\n    module.rescale()",
    'kept["a"] = output\n    rescale()',
    "module.kept.append(output)\n    module.flush()",
    "module.kept = output\n    module.kept[...] = module.kept * 2",
    "module.kept = output\n    module.kept[:, 1:] = 0",
    'kept["a"] = output\n    kept["a"][:] = output * 2',
    "module.kept = output\n    module.kept.data = output * 2",
    'kept["a"] = output\n    operator.imul(kept["a"], 2)',
)


def hook(body: str) -> types.CodeType:
    made: dict[str, types.FunctionType] = {}
    exec(f"def hook(module, args, output):\n    {body}", made)
    return made["hook"].__code__


@pytest.mark.parametrize("body", READS)
def test_a_hook_that_looks_reads_only(body: str) -> None:
    assert hooks.only_reads(hook(body))


@pytest.mark.parametrize("body", WRITES)
def test_a_hook_that_changes_what_it_gets_does_not(body: str) -> None:
    assert not hooks.only_reads(hook(body))
