"""The towers of CLIP and related models no longer contain a model.

Symptom   ``AttributeError: 'CLIPTextModel' object has no attribute 'text_model'`` from pipelines of diffusers
          (``clip_skip``), trainers and ComfyUI nodes; ``'CLIPVisionModel' object has no attribute 'vision_model'``.
Cause     Since 5.6.0 the outer model contains the parts of the inner one (embeddings, encoder, norms).
Releases  5.6.0 and later, fifteen classes of nine models
Upstream  transformers#46285, diffusers#13833, diffusers#14124 (not put back)
Here      Code that reads the attribute gets the tower, which has the same parts, arguments and results. Code that
          probes for it (``hasattr``, ``getattr``) knows both layouts and finds none, as without the fix: diffusers
          chooses the names of weights by this. Accelerate's ``set_module_tensor_to_device``, which ends without it,
          finds it. ``load_state_dict`` accepts the old names of weights. A tower on the device "meta" has no such
          attribute for others, since loaders assign weights by name. It cannot be set.
"""

from __future__ import annotations

import ast
import dis
import sys
import weakref
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Callable

from hotfix.fix import Fix

if TYPE_CHECKING:
    import types

FIX = Fix(
    title="AttributeError: 'CLIPTextModel' object has no attribute 'text_model'",
    kind="removed-api",
    upstream=("transformers#46285", "diffusers#13833", "diffusers#14124"),
    optin="load_state_dict takes names of weights that the release ignores where strict=False",
    group="removed-names",
    errors=(
        "AttributeError: 'CLIPTextModel' object has no attribute 'text_model'",
        "AttributeError: 'CLIPVisionModel' object has no attribute 'vision_model'",
    ),
    prefilter="PreTrainedModel)",
)

TEXT = (
    "clip.modeling_clip:CLIPTextModel",
    "clipseg.modeling_clipseg:CLIPSegTextModel",
    "metaclip_2.modeling_metaclip_2:MetaClip2TextModel",
    "siglip.modeling_siglip:SiglipTextModel",
    "siglip2.modeling_siglip2:Siglip2TextModel",
    "x_clip.modeling_x_clip:XCLIPTextModel",
)
VISION = (
    "altclip.modeling_altclip:AltCLIPVisionModel",
    "chinese_clip.modeling_chinese_clip:ChineseCLIPVisionModel",
    "clip.modeling_clip:CLIPVisionModel",
    "clipseg.modeling_clipseg:CLIPSegVisionModel",
    "metaclip_2.modeling_metaclip_2:MetaClip2VisionModel",
    "mlcd.modeling_mlcd:MLCDVisionModel",
    "siglip.modeling_siglip:SiglipVisionModel",
    "siglip2.modeling_siglip2:Siglip2VisionModel",
    "x_clip.modeling_x_clip:XCLIPVisionModel",
)


@FIX.recognises
def has_none_inside(definition: ast.AST) -> bool:
    """A tower, which makes its parts itself."""
    towers = (tower.rpartition(":")[2] for tower in (*TEXT, *VISION))
    if not isinstance(definition, ast.ClassDef) or definition.name not in towers:
        return False
    text = ast.unparse(definition)
    return "self.encoder = " in text and "self.text_model" not in text and "self.vision_model" not in text


def _wraps(*towers: str) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        for tower in towers:
            module, _, name = f"transformers.models.{tower}".partition(":")
            FIX.wraps((f"{module}:{name}.__init__", ">=5.6.0"), fingerprint_of=(name,))(function)
        return function

    return decorate


@_wraps(*TEXT)
def text_tower(original: Callable[..., None]) -> Callable[..., None]:
    """The class gets the attribute with the first of its towers."""
    return _equipping(original, "text_model")


@_wraps(*VISION)
def vision_tower(original: Callable[..., None]) -> Callable[..., None]:
    """The class gets the attribute with the first of its towers."""
    return _equipping(original, "vision_model")


def _equipping(original: Callable[..., None], name: str) -> Callable[..., None]:
    @wraps(original)
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _equip(type(self), name)

    return initialise


_EQUIPPED: weakref.WeakKeyDictionary[type, dict[str, Any]] = weakref.WeakKeyDictionary()


def _equip(cls: type, name: str) -> None:
    # A custom class may have the name itself, or how it is loaded; then that counts.
    if cls in _EQUIPPED or hasattr(cls, name):
        return
    members: dict[str, Any] = {name: inner(name)}
    if not any(
        "_load_from_state_dict" in vars(base) for base in cls.__mro__ if base.__module__ != "torch.nn.modules.module"
    ):
        members["_load_from_state_dict"] = loading(name)
    for member, value in members.items():
        setattr(cls, member, value)
    _EQUIPPED[cls] = members


@FIX.cleans_up
def restore() -> None:
    """Take it from the classes again."""
    for cls, members in list(_EQUIPPED.items()):
        for member, value in members.items():
            if vars(cls).get(member) is value:
                delattr(cls, member)
        del _EQUIPPED[cls]


def inner(name: str) -> property:
    """The tower itself for code that reads the attribute; a module that was set there, for everybody.

    Args:
        name: the name of the attribute.
    """

    def read(tower: Any) -> Any:
        if name in tower._modules:
            return tower._modules[name]
        caller = sys._getframe(1)
        is_read = _reads(caller.f_code, caller.f_lasti, name) and not _is_to_be_loaded(tower)
        if not is_read and _place(caller) != _FINDING:
            raise AttributeError(name)  # then `nn.Module` raises its own error
        return tower

    return property(read)


def loading(name: str) -> Callable[..., None]:
    """A method by which a tower takes its weights under the old names as well.

    Args:
        name: the name of the inner model.
    """

    def load(self: Any, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        old = f"{prefix}{name}."
        if name not in self._modules:
            for key in [key for key in state_dict if key.startswith(old)]:
                state_dict.setdefault(prefix + key[len(old) :], state_dict.pop(key))
        from torch import nn

        nn.Module._load_from_state_dict(self, state_dict, prefix, *args, **kwargs)

    return load


_FINDING = ("accelerate.utils.modeling", "set_module_tensor_to_device")
"""Finds a module by the parts of its name, with a `getattr` that is no probe: the error ends the program."""


def _place(frame: types.FrameType) -> tuple[Any, str]:
    return frame.f_globals.get("__name__"), frame.f_code.co_name


@cache
def _reads(code: types.CodeType, at: int, name: str) -> bool:
    """Whether code reads an attribute by name there; calls of `hasattr` and `getattr` are calls."""
    # 3.12 points at the end of what it keeps behind an instruction, once that is specialized.
    here = max((each for each in dis.get_instructions(code) if each.offset <= at), key=lambda each: each.offset)
    return here.opname in ("LOAD_ATTR", "LOAD_METHOD") and here.argval == name


def _is_to_be_loaded(tower: Any) -> bool:
    return any(weight.is_meta for weight in tower.parameters()) and not any(
        "_hf_hook" in vars(module) for module in tower.modules()
    )
