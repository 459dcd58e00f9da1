"""Results of a program as tensors and texts by name, and the comparison of two results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hotfix.proofs.compare import difference

PLAIN = (type(None), bool, int, float, complex, str, bytes)
DEEPEST = 6
LONGEST = 4000  # characters of a text
ENDED = "the case"  # name of the result that says with which error the case has ended

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_PATH = re.compile(r"(/[\w.+~-]+){2,}")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*|\bin \d+(\.\d+)? ?(ms|s)\b|\b\d\d?:\d\d(:\d\d)?(\.\d+)?\b"
)
_RANK = re.compile(r"^\[rank\d+\]:")  # which rank writes a line first differs from run to run
_MEASURED = re.compile(r"runtime|per_second")  # results that are times
_RELEASE = re.compile(r"(transformers_version\W+)[\w.]+")
_NUMBERED = re.compile(r"(\.py:|line |pid |port )\d+|\b[0-9a-f]{40}\b")


def described(value: Any, depth: int = 0) -> dict[str, Any]:
    """Flatten a value into tensors and texts, by path; the value itself has the empty path."""
    import torch

    if isinstance(value, torch.Tensor):
        return {"": _described_tensor(value)}
    if type(value) in PLAIN:
        return {"": repr(value)[:LONGEST]}
    if depth > DEEPEST:
        return {"": f"<{type(value).__name__}>"}
    if isinstance(value, Mapping):
        pairs = [(str(key), value[key]) for key in list(value) if not _MEASURED.search(str(key))]
        return {"": f"{type(value).__name__} of {len(pairs)}", **_nested(pairs, depth)}
    if isinstance(value, (list, tuple, set, frozenset)):
        members = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else list(value)
        if all(type(member) in PLAIN for member in members):
            return {"": repr(type(value)(members) if type(value) in (list, tuple) else members)[:LONGEST]}
        kind = f"{type(value).__name__} of {len(members)}"
        return {"": kind, **_nested([(str(number), member) for number, member in enumerate(members[:32])], depth)}
    if isinstance(value, torch.nn.Module):
        return {"": type(value).__name__, **_nested(list(value.state_dict().items()), depth)}
    if type(value).__module__ == "numpy":
        return described(torch.as_tensor(value), depth) if value.dtype.kind in "biuf" else {"": text_of(value)}
    to_dict = getattr(type(value), "to_dict", None)
    if to_dict is not None:
        try:
            return {"": text_of(json.dumps(value.to_dict(), sort_keys=True, default=str))}
        except Exception as error:
            return {"": f"to_dict raises {type(error).__name__}"}
    if type(value).__module__.startswith("transformers") and hasattr(value, "__dict__"):
        return {"": type(value).__name__, **_nested(sorted(vars(value).items()), depth)}
    return {
        "": text_of(value)
        if getattr(type(value), "__repr__", None) is not object.__repr__
        else f"<{type(value).__name__}>"
    }


def _described_tensor(value: Any) -> Any:
    import torch

    plain = type(value) in (torch.Tensor, torch.nn.Parameter)
    if not plain or value.is_meta or value.is_sparse:
        return f"{tuple(value.shape)} {value.dtype} {value.device.type}"
    return value.detach().cpu().clone(memory_format=torch.contiguous_format)


def _nested(pairs: Sequence[tuple[str, Any]], depth: int) -> dict[str, Any]:
    nested = {}
    for name, value in pairs:
        for path, inner in described(value, depth + 1).items():
            nested[f"{name}.{path}" if path else name] = inner
    return nested


def named(prefix: str, value: Any) -> dict[str, Any]:
    """`described`, with a prefix before each path."""
    return {f"{prefix}: {path}" if path else prefix: inner for path, inner in described(value).items()}


def text_of(value: Any) -> str:
    """A text without the parts that vary between processes: addresses, paths, times."""
    text = _RELEASE.sub(r"\1<release>", str(value))
    text = _TIME.sub("<time>", _PATH.sub("<path>", _ADDRESS.sub("<address>", text)))
    return _NUMBERED.sub(lambda match: (match[1] or "<hash> ") + "<n>", text)[:LONGEST]


def error_of(error: BaseException) -> tuple[str, str]:
    """The type of an error and its message."""
    return type(error).__name__, text_of(error)


def is_same(first: Any, second: Any, dtypes: bool = True) -> bool:
    """Whether two results are the same bits.

    Args:
        first: a tensor or a text, or None if a run lacks it.
        second: the same of the other run.
        dtypes: whether tensors of different dtypes differ, even if their numbers are equal.
    """
    if not (_is_tensor(first) and _is_tensor(second)):
        return not _is_tensor(first) and not _is_tensor(second) and bool(first == second)
    if first.shape != second.shape or (dtypes and first.dtype != second.dtype):
        return False
    return bool(((first == second) | ((first != first) & (second != second))).all())


def is_near(value: Any, other: Any, tolerance: Mapping[str, float] | None = None) -> bool:
    """Whether two results differ only by rounding, by the rule of the matrix."""
    if _is_tensor(value) and _is_tensor(other):
        return not difference({"": value}, {"": other}, tolerance).over
    return is_same(value, other, dtypes=False)


def distance(first: Any, second: Any) -> str:
    """The distance of two results, in words."""
    if _is_tensor(first) and _is_tensor(second):
        if first.shape != second.shape:
            return f"shape {tuple(first.shape)} -> {tuple(second.shape)}"
        if first.numel() == 1:
            return f"{first.item():.6g} -> {second.item():.6g}"
        if first.dtype != second.dtype:
            return f"{first.dtype} -> {second.dtype}"
        apart = difference({"": second}, {"": first})
        return f"0 -> {apart.relative:.3g} relative"
    return f"{_short(first, second)} -> {_short(second, first)}"


def _short(value: Any, other: Any) -> str:
    """A result, around its first difference from the other."""
    if value is None:
        return "missing"
    if _is_tensor(value):
        return f"tensor {tuple(value.shape)}"
    text, against = str(value), str(other) if isinstance(other, str) else ""
    if len(text) <= 100:
        return text
    same = next((at for at, (a, b) in enumerate(zip(text, against)) if a != b), 0)
    return f"…{text[max(0, same - 40) : same + 60]}…"


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "numel")


def lines_of(text: str) -> Iterator[str]:
    """The lines of an output that are not hotfix's own, without the parts that vary from run to run."""
    for line in text.splitlines():
        if line.strip() and not line.startswith(("hotfix", "{'")) and "%|" not in line:  # a Trainer prints its speed
            yield _RANK.sub("", text_of(line.rstrip()))
