"""Fast image processors with do_reduce_labels return the labels of the last segmentation map of a batch only.

Symptom   Silent. For several images, ``labels`` has one map, that of the last image. A loss that compares it with the
          logits of the batch fails on the number of images, or broadcasts.
Cause     ``reduce_label`` changes each map of the list, and returns the last one instead of the list.
Releases  fast processors of BEiT 4.52.1 to 5.0.0, DPT from 4.53.0, MobileNetV2 and MobileViT from 4.54.0, SegFormer
          from 4.55.0.
Upstream  transformers#43526, fixed in 5.1.0
Here      The list goes on. A direct call of ``reduce_label`` returns what the release returns, and an override of it
          is left alone. Bitwise equal to 5.1.0.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.processing._places import FAST, place

TABLE = (
    place("beit", FAST, "BeitImageProcessorFast._preprocess", ">=4.52.1,<=5.0.0"),
    place("dpt", FAST, "DPTImageProcessorFast._preprocess", ">=4.53.0,<=5.0.0"),
    place("mobilenet_v2", FAST, "MobileNetV2ImageProcessorFast._preprocess", ">=4.54.0,<=5.0.0"),
    place("mobilevit", FAST, "MobileViTImageProcessorFast._preprocess", ">=4.54.0,<=5.0.0"),
    place("segformer", FAST, "SegformerImageProcessorFast._preprocess", ">=4.55.0,<=5.0.0"),
)

FIX = Fix(
    title="fast image processors with do_reduce_labels return the labels of the last image only",
    kind="silent",
    upstream=("transformers#43526",),
    fixed_in="5.1.0",
    when="len(images) > 1",
    own=("self.reduce_label",),
    prefilter="reduce_label",
)

for where, releases in TABLE:
    FIX.edits(
        (where, releases),
        fingerprint_of=(where, where.replace("._preprocess", ".reduce_label")),
        old="images = self.reduce_label(images)",
        new="self.reduce_label(images)",  # it has put the reduced maps into the list
        beside="return label",
    )
