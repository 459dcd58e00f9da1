"""Timestamps of a long recording restart at 0 every 30 seconds.

Symptom   Silent. ``pipeline("automatic-speech-recognition", return_timestamps=True)`` of more than 30 seconds, without
          ``chunk_length_s``: the chunks of every window have times as if it were the first.
Cause     Whisper writes times relative to its window. The tokens of all windows form one sequence, and the decoder does
          not notice that a time is earlier than the one before.
Releases  4.37.0 to 4.52.4; 4.36 decodes in the same way, but transcribes only the first 30 seconds.
Upstream  transformers#31942, transformers#32003, transformers#32131, transformers#34210 (fixed in 4.53.0)
Here      If a time goes back, the next window has begun: at the end of the last segment of the previous window, or 30
          seconds after its begin if that segment reaches its end. Equal to 4.53.0. An output with a ``stride`` is one
          chunk of ``chunk_length_s``, and decoded as before.

Not here  ``batch_decode(output_offsets=True)`` of 4.37.0 to 4.44.2 has the same bug; 4.45.0 repaired it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hotfix.fix import Fix

FIX = Fix(
    title="Whisper pipeline: timestamps of long audio restart at 0 every 30 seconds",
    kind="silent",
    upstream=("transformers#31942", "transformers#32003", "transformers#32131", "transformers#34210"),
    fixed_in="4.53.0",
    everyone="only if a time goes back within one recording, which no single window of Whisper does",
)

_TOKENS = 'token_ids = output["tokens"][0].tolist()'
_TIME = "time = (token - timestamp_begin) * time_precision + time_offset"

FIX.edits(
    ("transformers.models.whisper.tokenization_whisper:_decode_asr", ">=4.36.0,<=4.52.4"),
    old=(_TOKENS, _TIME),
    new=(
        f"{_TOKENS}\nfrom {__name__} import Windows\nwindows = Windows('stride' in output)",
        f"{_TIME} + windows.begin(token_ids, i, timestamp_begin, time_precision)",
    ),
)


class Windows:
    """The begin of the window of each time in one sequence, in seconds.

    Args:
        is_chunk: the sequence is that of one window.
    """

    frames = 1500  # per window

    def __init__(self, is_chunk: bool = False) -> None:
        self.is_chunk = is_chunk
        self.begun = self.last = self.before = 0.0

    def begin(self, tokens: Sequence[int], place: int, zero: int, precision: float) -> float:
        """The begin of the window of a time; called for each time, in order.

        Args:
            tokens: the sequence.
            place: index of the time.
            zero: the token of the time 0.
            precision: seconds per frame.
        """
        if self.is_chunk:
            return 0.0
        time = float((tokens[place] - zero) * precision)
        if time < self.last:
            # Two times in a row end a segment before the end of the window; the next window begins there.
            heard_to_the_end = place >= 2 and min(tokens[place - 2 : place]) < zero
            if heard_to_the_end:
                self.begun += precision * self.frames
            else:
                self.last = self.before
                self.begun += self.before
        self.before, self.last = self.last, time
        return self.begun
