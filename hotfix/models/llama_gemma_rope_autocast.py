"""Under autocast, the rotary angles of Llama and Gemma are computed in half precision.

Symptom   Silent. Under ``torch.autocast`` (mixed precision of the Trainer, ``bf16=True``) the angles of every position
          but the first are rounded. From 256 on the positions are, too, from 1024 on to multiples of 8: neighbouring
          tokens get the same, and training and evaluation on longer texts get worse.
Cause     Frequencies times positions is a matrix product, which autocast carries out in bfloat16 or float16 although
          both are float32.
Releases  4.38.0 to 4.38.1
Upstream  transformers#29285 (fixed in 4.38.2)
Here      Autocast is off for the product. Bitwise equal to 4.38.2. Without autocast, on the meta device and while
          tracing, the release's own code runs.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Llama and Gemma with bf16=True (autocast): rotary positions from 256 on are rounded to half precision",
    kind="silent",
    upstream=("transformers#29285",),
    fixed_in="4.38.2",
)

_PRODUCT = "freqs = (inv_freq_expanded @ position_ids_expanded).transpose(1, 2)"

FIX.edits(
    *(
        (
            f"transformers.models.{name.lower()}.modeling_{name.lower()}:{name}RotaryEmbedding.forward",
            ">=4.38.0,<=4.38.1",
        )
        for name in ("Llama", "Gemma")
    ),
    old=_PRODUCT,
    new=f"""
        with torch.autocast("cpu" if x.device.type == "mps" else x.device.type, enabled=False):
            {_PRODUCT}
        """,
    unless="maybe_autocast",
    # Before torch 2.4 it takes no argument, and means CUDA.
    when="""
        (
            x.device.type != "meta" and torch.is_autocast_enabled(x.device.type)
            if hasattr(torch, "get_autocast_dtype")
            else torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
        )
    """,
)
