"""LFM2-VL norms the features of images although its configuration turns that off.

Symptom   Silent. With ``"projector_use_layernorm": false`` in its configuration, a model gets wrong features of images.
          ``from_pretrained`` logs that ``multi_modal_projector.layer_norm`` was newly initialized.
Cause     The projector does not know the setting: it always has a LayerNorm.
Releases  4.57.1 to 4.57.6
Upstream  fixed in 5.0.0
Here      The projector is made without the LayerNorm, as in 5.0.0. Models that were made with it keep it, such as those
          of a pickle, and so does a projector class of your own. Off by default: what was trained on these releases has
          learned with the LayerNorm, and neither an adapter nor a running training shows whether it was. Weights of a
          LayerNorm in a checkpoint are left out, with the warning of the release, as in 5.0.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="LFM2-VL has a LayerNorm in its projector although projector_use_layernorm is false",
    kind="silent",
    fixed_in="5.0.0",
    optin="an adapter or a checkpoint that was trained on these releases needs the LayerNorm, and an adapter does not "
    "show it",
)

_PROJECTOR = "transformers.models.lfm2_vl.modeling_lfm2_vl:Lfm2VlMultiModalProjector"
_RELEASES = ">=4.57.1,<=4.57.6"
_MADE, _USED = "self.layer_norm = nn.LayerNorm(in_channels)", "image_features = self.layer_norm(image_features)"

FIX.edits(
    (f"{_PROJECTOR}.__init__", _RELEASES),
    old=_MADE,
    new="self.layer_norm = None",
    when="not getattr(config, 'projector_use_layernorm', True)",
    own=("self",),
    along=(f"{_PROJECTOR}.forward",),
)
FIX.edits(
    (f"{_PROJECTOR}.forward", _RELEASES),
    old=_USED,
    new="pass",
    beside=_MADE,
    fingerprint_of=("Lfm2VlMultiModalProjector.__init__", "Lfm2VlMultiModalProjector.forward"),
    when="self.layer_norm is None",
)
