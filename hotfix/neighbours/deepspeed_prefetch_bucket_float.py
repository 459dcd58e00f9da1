"""DeepSpeed refuses the configuration that the Trainer fills in: a prefetch bucket of half an element.

Symptom   ``ValidationError: 1 validation error for DeepSpeedZeroConfig stage3_prefetch_bucket_size "
        "Input should be a
          valid integer, got a number with a fractional part`` with ZeRO-3 and ``"auto"``.
Cause     Nine tenths of the square of the hidden size are passed on as they are; DeepSpeed 0.15 and later check types.
Releases  4.36.0 to 4.44.2
Upstream  first fixed in 4.45.0
Here      The whole part of it, as since 4.45.0. A number without a fraction, which DeepSpeed accepts (hidden size
          5120), stays a float; and under an older DeepSpeed, which rounds it itself, the configuration stays as it is.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="ValidationError: stage3_prefetch_bucket_size Input should be a valid integer",
    kind="crash",
    fixed_in="4.45.0",
    errors=(
        "ValidationError: 1 validation error for DeepSpeedZeroConfig stage3_prefetch_bucket_size "
        "Input should be a valid integer, got a number with a fractional part",
    ),
)

FIX.edits(
    ("transformers.integrations.deepspeed:HfTrainerDeepSpeedConfig.trainer_config_finalize", ">=4.36.0,<=4.44.2"),
    old='self.fill_only("zero_optimization.stage3_prefetch_bucket_size", 0.9 * hidden_size * hidden_size)',
    new=f"""
        from {__name__} import accepted
        self.fill_only("zero_optimization.stage3_prefetch_bucket_size", accepted(0.9 * hidden_size * hidden_size))
    """,
    when="from hotfix.neighbours.deepspeed_prefetch_bucket_float import checks_types\nchecks_types()",
)


def checks_types() -> bool:
    """Whether DeepSpeed refuses a fraction: 0.15 and later."""
    from importlib import metadata

    from packaging.version import Version

    try:
        return Version(metadata.version("deepspeed")) >= Version("0.15")
    except metadata.PackageNotFoundError:
        return True


def accepted(size: float) -> float:
    """A number of elements that DeepSpeed accepts: without its fraction, if it has one."""
    return size if size.is_integer() else int(size)
