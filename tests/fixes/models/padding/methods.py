"""Other properties of an edited method, in a child. The target is named by $CASE_TARGETS."""

from __future__ import annotations

import json
import os
import sys
import traceback
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from hotfix.models.fa2_right_padding_check import FIX
from hotfix.proofs.models import fa2_right_padding_check as fix


def named():
    """The targets of this child."""
    for key in os.environ["CASE_TARGETS"].split():
        module, _, qualname = key.partition(":")
        yield SimpleNamespace(key=key, module=module, qualname=qualname)


def function_of(target):
    owner, _, name = target.qualname.partition(".")
    return getattr(getattr(import_module(target.module), owner), name)


def batch(model, lengths=fix.LENGTHS):
    """Right-padded ids with their mask, always the same."""
    ids = (torch.arange(len(lengths) * max(lengths)).view(len(lengths), -1) * 7) % 29 + 3
    mask = torch.stack([torch.arange(max(lengths)) < length for length in lengths]).long()
    return {"input_ids": ids.to(model.device), "attention_mask": mask.to(model.device)}


def show(**facts):
    print(json.dumps(facts))


def errors_inside(testbed):
    """The frames of an error raised inside each method, as they are shown to the user: file, line, name, text.

    A mask of a class that refuses to be looked into lets the methods fail behind the place of the check.
    """

    class Opaque:
        """An attention mask with a shape and nothing else."""

        shape = (3, 9)
        device = torch.device("cpu")

        def __getitem__(self, key):
            return torch.ones(3, dtype=torch.long)

        def __contains__(self, value):
            raise RuntimeError("looked into")

        def __eq__(self, value):
            raise RuntimeError("looked into")

        def __getattr__(self, name):
            raise RuntimeError("looked into")

    shown = {}
    for target in named():
        model = fix.build(testbed, target)
        try:
            model(input_ids=batch(model)["input_ids"], attention_mask=Opaque(), use_cache=True)
        except RuntimeError as error:
            frames = traceback.extract_tb(error.__traceback__)
            shown[target.key] = [(frame.filename, frame.lineno, frame.name, frame.line) for frame in frames]
    return shown


def describe(testbed):
    """The properties of each function besides its code: signature, names, closure, decorators, source lines."""
    import inspect

    facts = {}
    for target in named():
        function = function_of(target)
        inner = inspect.unwrap(function)
        facts[target.key] = [
            str(inspect.signature(function)),
            function.__qualname__,
            function.__module__,
            function is inner,
            inspect.getsource(function),
            inner.__code__.co_filename,
            inner.__code__.co_firstlineno,
            inner.__code__.co_freevars,
            inner.__doc__ or "",
        ]
    return facts


def checkpointing(testbed):
    """Gradients in training with and without gradient checkpointing."""
    results = {}
    for target in named():
        for way in "plain", "checkpointed":
            model = fix.build(testbed, target).train()
            if way == "checkpointed":
                model.gradient_checkpointing_enable()
            given = batch(model)
            out = model(**given, labels=given["input_ids"].masked_fill(given["attention_mask"] == 0, -100))
            out.loss.backward()
            results.update({f"{target.key} {way} {name}": value for name, value in fix.gradients(model).items()})
            results[f"{target.key} {way} loss"] = out.loss
    return results


class Synchronisations(TorchDispatchMode):
    """Counts how often a tensor is read by the host."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def synchronisations(testbed):
    """How often a forward of a batch without padding waits for the device."""
    counts = {}
    for target in named():
        model = fix.build(testbed, target)
        given = batch(model, (9, 9))
        with torch.no_grad(), Synchronisations() as counting:
            model(**given, use_cache=True)
        counts[target.key] = counting.count
    return counts


def looks(testbed, target):
    """All of the above, in one process; of the training only where it does not raise."""
    show(errors_inside=errors_inside(testbed), describe=describe(testbed), synchronisations=synchronisations(testbed))
    try:
        return checkpointing(testbed)
    except Exception as error:  # a handler of the very error, or a silent one, would take precedence over the repair
        print(error, file=sys.stderr)
        return {}


def compiled(testbed, target):
    """Graph breaks of a decoder's forward, and the result of torch.compile beside that of eager mode."""
    breaks, results = {}, {}
    for place in named():
        model = fix.build(testbed, place)
        decoder = model.model
        given = {**batch(model), "use_cache": True}
        with torch.no_grad():
            explained = torch._dynamo.explain(decoder)(**given)
            breaks[place.key] = explained.graph_break_count
            torch._dynamo.reset()
            real = given["attention_mask"].bool()
            results[f"{place.key} eager mode"] = decoder(**given).last_hidden_state[real]
            ran = torch.compile(decoder, backend="aot_eager")(**given)
            results[f"{place.key} compiled"] = ran.last_hidden_state[real]
    show(**breaks)
    return results


def subclasses(testbed, target):
    """Which method of a subclass runs, and whether `generate` is guarded, for overrides of `_update_causal_mask`."""
    import transformers

    module: Any = import_module("transformers.models.qwen2.modeling_qwen2")
    calls = []

    class Own(module.Qwen2Model):
        """As downstream packages do it: nothing of the original is left."""

        def _update_causal_mask(self, attention_mask, *args, **kwargs):
            calls.append("own")
            return attention_mask

    class Calling(module.Qwen2Model):
        """Does something, and then what the original does."""

        def _update_causal_mask(self, *args, **kwargs):
            calls.append("calling")
            return super()._update_causal_mask(*args, **kwargs)

    outcomes = {}
    for decoder in Own, Calling, module.Qwen2Model:
        simple_namespace: Any = SimpleNamespace(module=module.__name__, qualname="Qwen2Model._update_causal_mask")
        model = fix.build(testbed, simple_namespace)
        model.model.__class__ = decoder
        given = batch(model)
        calls.clear()
        forward = _raises(lambda: model(**given, use_cache=True))  # noqa: B023
        ran = list(calls)
        model.generation_config = transformers.GenerationConfig(max_new_tokens=1, pad_token_id=0)
        outcomes[decoder.__name__] = [ran, forward, _raises(lambda: model.generate(**given))]  # noqa: B023
    show(**outcomes)
    return {}


def reverted(testbed, target):
    """Forward, generate, and what the functions are: armed, after revert(), armed again."""
    import hotfix

    (place,) = named()
    model = fix.build(testbed, place)
    given = batch(model)
    bound = model.generate  # held over the revert

    def state():
        return [
            _raises(lambda: model(**given, use_cache=True)),
            _raises(lambda: model.generate(**given, max_new_tokens=1, pad_token_id=0)),
            function_of(place).__code__ is stock,
        ]

    with_fix = function_of(place).__code__
    hotfix.revert()
    stock = function_of(place).__code__
    after = state()
    held = _raises(lambda: bound(**given, max_new_tokens=1, pad_token_id=0))
    hotfix.apply()
    again = state()
    assert with_fix is not stock
    show(after=after, again=again, held=held, finders=[type(finder).__name__ for finder in sys.meta_path])
    return {}


def untouched(testbed, target):
    """Which functions are another object or have other code after `hotfix.apply()` than before, and the outcomes."""
    import hotfix

    mixin = import_module("transformers.generation.utils").GenerationMixin
    guarded = ("generate", "_prepare_attention_mask_for_generation")

    def present():
        held = {f"GenerationMixin.{name}": vars(mixin)[name] for name in guarded}
        for place in named():
            owner, _, name = place.qualname.partition(".")
            held[place.key] = vars(vars(import_module(place.module)).get(owner, object)).get(name)
        return {key: (function, getattr(function, "__code__", None)) for key, function in held.items()}

    before = present()
    with hotfix.apply(only=[FIX.id]):
        during = present()
        report: dict[str, Any] = hotfix.report().to_dict()
        outcomes = [outcome for outcome in report["outcomes"] if outcome["state"] == "applied"]
    after = present()
    changed = [key for key in before if not all(a is b for a, b in zip(before[key], during[key]))]
    kept = [key for key in before if not all(a is b for a, b in zip(before[key], after[key]))]
    show(changed=changed, left_behind=kept, applied=[outcome["target"] for outcome in outcomes])
    return {}


def _raises(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
