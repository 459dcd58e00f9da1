"""Compares the three runs of a program: stock, stock of the reference release, and armed with one fix.

Each result is judged separately. If stock equals the reference, the armed process must give stock's bits. Otherwise it
equals the reference (repaired) or stock (left alone). Everything else is a harm, and so is an error where stock has
none. If stock agrees with itself, as micro-batches with the one batch, the armed process must agree with itself as
well, whatever the reference gives: even a repaired release can be wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.deviations.values import ENDED, distance, is_near, is_same, lines_of

SAME, REPAIRED, LEFT_ALONE, PARTLY = "as stock", "repaired", "left alone", "repaired in part"
UNCLEAR, HARM, ABSENT = "unclear", "harm", "not applicable"
RESULTS = (SAME, REPAIRED, LEFT_ALONE, PARTLY, UNCLEAR, HARM, ABSENT)
APART = 1e-3  # relative to the larger one: the limit for two ways to agree
_WAYS = ((r"\baccumulated\b", "whole batch"), (r"\breplicas\b", "one batch"))


@dataclass
class Run:
    """One run of a program.

    Attributes:
        values: tensors and texts by name.
        error: the type of the error that ended it and the message, or None.
        absent: the reason why the deviation does not apply to the program, or "".
        stderr: its error output.
        state: the state that it left in its process.
        applied: whether the fix was applied.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    absent: str = ""
    stderr: str = ""
    state: Mapping[str, str] = field(default_factory=dict)
    applied: bool = False


@dataclass(frozen=True)
class Verdict:
    """The verdict on a program.

    Attributes:
        result: one of `RESULTS`.
        detail: the differences, or the reason for "not applicable".
        differences: the number of harmed results.
    """

    result: str
    detail: str = ""
    differences: int = 0


def judged(
    stock: Run,
    reference: Run | None,
    armed: Run,
    *,
    strict: bool = False,
    instead: Run | None = None,
    tolerance: Mapping[str, float] | None = None,
    errors: Sequence[str] = (),
    plain: Run | None = None,
    is_affected: bool = False,
) -> Verdict:
    """Compare the runs of a program.

    Args:
        stock: on the broken release.
        reference: stock on the correct release, or None if there is none.
        armed: on the broken release, with the one fix.
        strict: whether the program uses only the user's code, so that the armed process must equal stock.
        instead: the run of a program with the same results, which is used if the reference cannot run this one.
        tolerance: of the fix, as in the matrix.
        errors: that the fix declares: stock raises them when the bug is triggered.
        plain: the same program without its deviation, on the correct release: a warning that it does not give either is
            about the bug.
        is_affected: whether the bug is triggered, so that a result without a reference may rightly change.
    """
    if stock.absent:
        return Verdict(ABSENT, stock.absent)
    if strict and stock.error and stock.error == armed.error:
        return Verdict(ABSENT, f"stock cannot run it: {_told(stock.error)}")
    if armed.absent:
        return Verdict(HARM, f"the deviation cannot be made any more: {armed.absent}", 1)
    if failures := [line for line in armed.stderr.splitlines() if "hotfix itself failed" in line]:
        return Verdict(HARM, failures[0][:200], 1)
    right = reference if reference is not None and not reference.absent and reference.error is None else None
    if right is None and instead is not None and instead.error is None:
        right = instead
    refused = reference.error if reference is not None and not reference.absent else None
    if stock.error or armed.error:
        return _errors(stock, right, refused, armed, strict, tolerance)
    verdict = _values(stock, None if strict else right, armed, strict, tolerance, errors)
    if verdict.result == HARM and is_affected and not strict and _is_unknown(verdict, right):
        return Verdict(UNCLEAR, f"the reference does not have the function: {verdict.detail}", verdict.differences)
    if verdict.result in (SAME, LEFT_ALONE) and (other := _side_effects(stock, armed, right or plain)):
        return Verdict(HARM, other, 1)
    return verdict


def _is_unknown(verdict: Verdict, right: Run | None) -> bool:
    """Whether the first harm is in a call of a function that the reference does not have."""
    call = verdict.detail.partition(", ")[0]
    return call.startswith("call ") and not any(name.startswith(call) for name in (right.values if right else ()))


def is_identical(first: Run, second: Run) -> bool:
    """Whether two runs gave the same bits, or ended with the same error."""
    names = {*first.values, *second.values}
    return first.error == second.error and all(
        is_same(first.values.get(name), second.values.get(name)) for name in names
    )


def _errors(
    stock: Run, right: Run | None, refused: Any, armed: Run, strict: bool, tolerance: Mapping[str, float] | None
) -> Verdict:
    if stock.error == armed.error:
        return Verdict(SAME if refused == stock.error else LEFT_ALONE, _told(stock.error))
    if not stock.error:
        also = ", as the reference does" if refused and armed.error and refused[0] == armed.error[0] else ""
        return Verdict(HARM, f"runs -> {_told(armed.error)}{also}", 1)
    if not armed.error:
        if strict:
            return Verdict(HARM, f"{_told(stock.error)} -> runs", 1)
        if right is not None:
            apart = _apart(right.values, armed.values, tolerance)
            return Verdict(UNCLEAR, f"runs, and differs from the reference: {apart}") if apart else Verdict(REPAIRED)
        return Verdict(UNCLEAR, f"{_told(stock.error)} -> runs, and the reference does not")
    if armed.error[0] == stock.error[0] and not strict:
        return Verdict(LEFT_ALONE, f"another message: {_told(armed.error)}")
    if refused and refused[0] == armed.error[0]:
        return Verdict(REPAIRED, f"raises what the reference raises: {_told(armed.error)}")
    return Verdict(HARM if strict else UNCLEAR, f"{_told(stock.error)} -> {_told(armed.error)}", 1)


_CACHED = re.compile(r"past_key_values|\bcache\b|\.(keys|values)$")


def _seen(after: Any, wanted: Any, name: str) -> Any:
    """The part of a cached tensor that the reference keeps, if that drops what is outside of the window."""
    shapes = [getattr(value, "shape", ()) for value in (after, wanted)]
    if not _CACHED.search(name) or len(shapes[0]) != len(shapes[1]):
        return after
    shorter = [at for at, (own, other) in enumerate(zip(*shapes)) if own != other]
    if len(shorter) != 1 or shapes[0][shorter[0]] < shapes[1][shorter[0]]:
        return after
    return after.narrow(shorter[0], shapes[0][shorter[0]] - shapes[1][shorter[0]], shapes[1][shorter[0]])


def _is_text_repaired(before: Any, after: Any, wanted: Any) -> bool:
    """Whether all that changed in a configuration's text has the reference's values; the rest may differ."""
    try:
        first, second, right = (
            json.loads(text[text.index("{") : text.rindex("}") + 1]) for text in (before, after, wanted)
        )
    except (AttributeError, TypeError, ValueError):
        return False
    if not all(isinstance(each, dict) for each in (first, second, right)):
        return False
    changed = {name for name in {*first, *second} if first.get(name) != second.get(name)} & {*right}
    return bool(changed) and all(second.get(name) == right[name] for name in changed)


def _changed_calls(stock: Mapping[str, Any], armed: Mapping[str, Any]) -> set[str]:
    """The recorded calls whose arguments the repair has changed: a deviation repeats another call in each process."""
    return {
        name.partition(", given")[0]
        for name in {*stock, *armed}
        if ", given" in name and not is_same(stock.get(name), armed.get(name))
    }


def _values(
    stock: Run,
    right: Run | None,
    armed: Run,
    strict: bool,
    tolerance: Mapping[str, float] | None,
    errors: Sequence[str] = (),
) -> Verdict:
    harms: list[str] = []
    repaired = alone = 0
    is_struck = any(_is_declared(value, errors) for value in stock.values.values())
    is_struck |= ENDED in stock.values and ENDED not in armed.values  # the case gets further than in stock
    is_whole = right is not None and right.values.keys() == armed.values.keys()
    others = _changed_calls(stock.values, armed.values)
    nearer = _nearer(stock.values, armed.values)
    calls = {name.partition(": ")[0] for name in (right.values if right is not None else ())}
    for name in sorted({*stock.values, *armed.values}):
        if ", given" in name or name.partition(", ")[0] in others:
            continue  # the arguments of a call are no result of the program
        before, after = stock.values.get(name), armed.values.get(name)
        wanted = right.values.get(name) if right is not None else None
        if _is_error(before) and _is_error(after) and before != after:
            alone += 1  # no correct program is among the failing ones
        elif is_struck and (before is None or name == ENDED or _is_declared(before, errors)):
            repaired += 1  # the result in place of the error
        elif is_same(before, after):
            alone += right is not None and name in right.values and not is_near(before, wanted, tolerance)
        elif is_whole and after is None and right is not None and name not in right.values:
            repaired += 1  # the name is another one in the reference, and the armed process has all of its names
        elif after is None and wanted is None and name.partition(": ")[0] in calls:
            repaired += 1  # the reference returns the same without this entry
        elif name in nearer:
            repaired += 1
        elif right is None or name not in right.values:
            harms.append(
                f"{name}: {distance(before, after)}" + ("" if strict else ", and the reference has no such result")
            )
        elif is_same(before, wanted):
            harms.append(f"{name}: {distance(before, after)}, where the reference gives the same")
        elif _is_text_repaired(before, after, wanted):
            repaired += 1
        elif is_near(_seen(after, wanted, name), wanted, tolerance):
            if is_near(before, wanted, tolerance) and not is_same(after, wanted, dtypes=False):
                harms.append(f"{name}: {distance(before, after)}, in the last bits")
            else:
                repaired += 1
        else:
            harms.append(f"{name}: {distance(before, after)}, neither stock nor the reference")
    harms += _disagreements(stock.values, armed.values)
    if harms:
        return Verdict(HARM, harms[0] + (f" (and {len(harms) - 1} more)" if len(harms) > 1 else ""), len(harms))
    if repaired:
        return Verdict(PARTLY if alone else REPAIRED)
    return Verdict(LEFT_ALONE if alone else SAME)


def _is_error(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"\w*(Error|Exception|Interrupt|Exit): ", value) is not None


def _is_declared(value: Any, errors: Sequence[str]) -> bool:
    """Whether a result reports a declared error."""
    for error in errors if _is_error(value) else ():
        kind, _, message = error.partition(":")
        text = f"{kind.rpartition('.')[2]}:{message}"
        if re.fullmatch(".*".join(map(re.escape, text.split("…"))), value, re.DOTALL):
            return True
    return False


def _disagreements(stock: Mapping[str, Any], armed: Mapping[str, Any]) -> list[str]:
    """The results in which stock agrees with itself in two ways and the armed process does not."""
    disagreements = []
    for name in sorted(stock):
        for way, other in _WAYS:
            twin = re.sub(way, other, name)
            if twin == name or any(value not in values for value in (name, twin) for values in (stock, armed)):
                continue
            before, after = (_ratio(values[name], values[twin]) for values in (stock, armed))
            if before is not None and after is not None and before < APART < after:
                disagreements.append(f"{name} against {other}: relative difference {before:.2g} -> {after:.2g}")
    return disagreements


def _nearer(stock: Mapping[str, Any], armed: Mapping[str, Any]) -> set[str]:
    """The results of micro-batches, if they are together nearer to the one batch than in stock.

    Only those count whose one batch is the same in stock.
    """
    names, before, after = set(), 0.0, 0.0
    for way, other in _WAYS:
        for name in {*stock} & {*armed}:
            twin = re.sub(way, other, name)
            tensors: list[Any] = [values.get(each) for values in (stock, armed) for each in (name, twin)]
            if twin == name or any(not hasattr(tensor, "is_floating_point") for tensor in tensors):
                continue
            own, whole, changed, same = tensors
            if own.shape == whole.shape == changed.shape and own.is_floating_point() and is_same(whole, same):
                names.add(name)
                before += float((own - whole).abs().sum())
                after += float((changed - whole).abs().sum())
    return names if after < before else set()


def _ratio(first: Any, second: Any) -> float | None:
    if (
        isinstance(first, str)
        or isinstance(second, str)
        or first.shape != second.shape
        or not first.is_floating_point()
    ):
        return None
    largest = float(max(first.abs().max(), second.abs().max())) if first.numel() else 0.0
    return float((first - second).abs().max()) / largest if largest > 1e-6 else None


def _apart(right: Mapping[str, Any], armed: Mapping[str, Any], tolerance: Mapping[str, float] | None) -> str:
    for name in sorted({*right, *armed}):
        if not is_near(armed.get(name), right.get(name), tolerance):
            return f"{name}: {distance(right.get(name), armed.get(name))}"
    return ""


def _side_effects(stock: Run, armed: Run, right: Run | None) -> str:
    for name, before in stock.state.items():
        if armed.state.get(name) != before:
            return f"what is left in the process, {name}: {distance(before, armed.state.get(name))}"
    lines, more = list(lines_of(stock.stderr)), list(lines_of(armed.stderr))
    wanted = lines if right is None else list(lines_of(right.stderr))
    new = [line for line in more if line not in lines]
    new += [line for line in lines if line not in more and line in wanted]
    return f"other lines on stderr: {new[0][:200]}" if new else ""


def _told(error: tuple[str, str] | None) -> str:
    kind, message = error or ("", "")
    return f"{kind}: {(message.strip().splitlines() or [''])[0][:160]}"
