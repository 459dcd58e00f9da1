"""The times of a long recording begin again at 0 every half a minute.

Symptom   Silent. ``pipeline("automatic-speech-recognition", return_timestamps=True)`` of more than 30 seconds, without
          ``chunk_length_s``: the chunks of every window have times as if it were the first.
Cause     Whisper writes times relative to its window. What is generated for all windows comes as one sequence, and
          where it is read nobody notices that a time is earlier than the one before.
Releases  4.37.0 to 4.52.4; 4.36 reads the same way, and hears nothing but the first half minute there.
Upstream  transformers#31942, transformers#32003, transformers#32131, transformers#34210 (fixed in 4.53.0)
Here      Where a time goes back, the next window has begun: behind what the last one has heard to its end, or half a
          minute later where it has heard something to its very end. Equal to 4.53.0.

Not here  ``batch_decode(output_offsets=True)`` of 4.37.0 to 4.44.2 does the same, and has been repaired in 4.45.0.
"""

from __future__ import annotations

from collections.abc import Sequence

from hotfix.fix import Fix

FIX = Fix(
    title="Timestamps of long audio begin again at 0 every 30 seconds",
    kind="silent",
    upstream=("transformers#31942", "transformers#32003", "transformers#32131", "transformers#34210"),
    fixed_in="4.53.0",
    everyone="only where a time goes back within one recording, which no single window of Whisper does",
)

_TOKENS = 'token_ids = output["tokens"][0].tolist()'
_TIME = "time = (token - timestamp_begin) * time_precision + time_offset"

FIX.edits(
    ("transformers.models.whisper.tokenization_whisper:_decode_asr", ">=4.36.0,<=4.52.4"),
    old=(_TOKENS, _TIME),
    new=(
        f"{_TOKENS}\nfrom {__name__} import Windows\nwindows = Windows()",
        f"{_TIME} + windows.begin(token_ids, i, timestamp_begin, time_precision)",
    ),
)


class Windows:
    """When the window of each time of one sequence has begun, in seconds."""

    frames = 1500  # of a window

    def __init__(self) -> None:
        self.begun = self.last = self.before = 0.0

    def begin(self, tokens: Sequence[int], place: int, zero: int, precision: float) -> float:
        """When the window of a time has begun; it is asked of each time, in their order.

        Args:
            tokens: the sequence.
            place: of the time.
            zero: the token that is the time 0.
            precision: seconds of a frame.
        """
        time = float((tokens[place] - zero) * precision)
        if time < self.last:
            # Two times in a row end what was heard before the window has ended; then the next one begins there.
            heard_to_the_end = place >= 2 and min(tokens[place - 2 : place]) < zero
            if heard_to_the_end:
                self.begun += precision * self.frames
            else:
                self.last = self.before
                self.begun += self.before
        self.before, self.last = self.last, time
        return self.begun
