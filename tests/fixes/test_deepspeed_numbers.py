"""The number of elements that DeepSpeed prefetches: only what it refuses changes."""

from hotfix.neighbours.deepspeed_prefetch_bucket_float import accepted


def test_a_whole_number_keeps_its_type() -> None:
    for hidden, expected in ((4096, 15099494), (1280, 1474560.0), (5120, 23592960.0)):
        size = accepted(0.9 * hidden * hidden)
        assert (size, type(size)) == (expected, type(expected))
