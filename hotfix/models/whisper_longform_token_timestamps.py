"""Whisper cannot return the times of tokens for audio that is longer than 30 seconds.

Symptom   ``AttributeError: 'tuple' object has no attribute 'cpu'`` from `generate` with
          ``return_token_timestamps=True``, or with ``return_segments=True`` and ``output_attentions=True`` or
          ``output_hidden_states=True``.
Cause     The outputs of a window are split into those of each recording as if each were one tensor. Attentions are
          tuples of tuples. The times are then in no segment.
Releases  4.37.0 to 4.38.2
Upstream  transformers#28977, transformers#29148 (first fixed in 4.39.0)
Here      Tuples are split as in 4.39.0, and each segment has ``token_timestamps``, from the beginning of the recording.
          An output that the program has split is left alone, and so is a model whose `generate_with_fallback` or
          `_retrieve_segment` is the program's own. A program that handles the error gets it.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: 'tuple' object has no attribute 'cpu', for Whisper's return_token_timestamps on long audio",
    kind="crash",
    upstream=("transformers#28977", "transformers#29148"),
    fixed_in="4.39.0",
    errors=("AttributeError: 'tuple' object has no attribute 'cpu'",),
    everyone="only for outputs that are tuples, where the release raises: the new code tests it",
)

_GENERATION = "transformers.models.whisper.generation_whisper:WhisperGenerationMixin"

# How it splits decides for all three: the other two functions look the same in right releases.
_SPLITS = f"{_GENERATION}._postprocess_outputs"
_BROKEN = ('key == "scores"', "split_by_batch_index(v, k, i)")
_RIGHT = "isinstance(values[batch_idx], tuple) and torch.is_tensor(values[batch_idx][0])"

FIX.edits(
    (_SPLITS, ">=4.37.0,<=4.38.2"),
    old="return values[batch_idx].cpu()",
    new=f"""
from {__name__} import is_split, row_of
if is_split(values[batch_idx]):
    return row_of(values, batch_idx)
return values[batch_idx].cpu()
""",
    beside=_BROKEN,
    unless=_RIGHT,
    own=("self.generate_with_fallback", "self._retrieve_segment"),
    along=(f"{_GENERATION}.generate_with_fallback", f"{_GENERATION}._retrieve_segment"),
)

FIX.edits(
    (f"{_GENERATION}.generate_with_fallback", ">=4.37.0,<=4.38.2"),
    old="needs_fallback[i], should_skip[i] = self._need_fallback(*__GIVEN)",
    new=f"""
from {__name__} import cut_times
cut_times(seek_outputs[i], decoder_input_ids.shape[-1], len(seek_sequence))
needs_fallback[i], should_skip[i] = self._need_fallback(*__GIVEN)
""",
    beside=_BROKEN,
    unless=_RIGHT,
    fingerprint_of=(f"{_GENERATION}.generate_with_fallback", _SPLITS),
)

FIX.edits(
    (f"{_GENERATION}._retrieve_segment", ">=4.37.0,<=4.38.2"),
    old="return segments, segment_offset",
    new=f"""
from {__name__} import add_times
add_times(segments, seek_outputs[idx], time_offset[prev_idx])
return segments, segment_offset
""",
    beside=_BROKEN,
    unless=_RIGHT,
    fingerprint_of=(f"{_GENERATION}._retrieve_segment", _SPLITS),
)


def is_split(value: Any) -> bool:
    """Whether the rows of an output are taken from the tensors of a tuple: not if the program handles the error."""
    return isinstance(value, tuple) and hasattr(value[0], "cpu") and not scope.is_handled_around(FIX.id, AttributeError)


def row_of(values: Any, row: int) -> Any:
    """The outputs of one recording, by token and layer.

    Args:
        values: a tuple of tuples of tensors.
        row: number of the recording.
    """
    parts = tuple(tuple(layer[row : row + 1].cpu() for layer in token) for token in values)
    _split()[parts[0][0]] = True
    return parts


def cut_times(output: Any, prompt: int, length: int) -> None:
    """Leave the times of the tokens that a segment may have.

    Args:
        output: the output of one recording.
        prompt: number of tokens that were given.
        length: number of tokens after them.
    """
    if _is_ours(output):
        output["token_timestamps"] = output["token_timestamps"][prompt : prompt + length]


def add_times(segments: list[dict[str, Any]], output: Any, offset: Any) -> None:
    """Add the times of its tokens to each segment.

    Args:
        segments: the segments of one window, which follow one another.
        output: the output of the recording.
        offset: where the window begins, in seconds.
    """
    if not _is_ours(output):
        return
    begin = 0
    for segment in segments:
        end = begin + len(segment["tokens"])
        segment["token_timestamps"] = output["token_timestamps"][begin:end] + offset
        begin = end


def _is_ours(output: Any) -> bool:
    """Whether this fix has split an output that has times."""
    if not (isinstance(output, dict) and "token_timestamps" in output):
        return False
    attentions: Any = output.get("cross_attentions")
    return bool(attentions) and attentions[0][0] in _split()


_SPLIT: list[Any] = []


def _split() -> Any:
    """The first tensors of tuples that this fix has split, by identity."""
    if not _SPLIT:
        from torch.utils.weak import WeakIdKeyDictionary

        _SPLIT.append(WeakIdKeyDictionary())
    return _SPLIT[0]
