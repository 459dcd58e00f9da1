"""``get_image_features`` and its relatives return an object with the features, no longer the features themselves.

Symptom   ``AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'norm'`` (``shape``, ``cpu``,
          ``detach``), ``TypeError: unsupported operand type(s) for /: 'BaseModelOutputWithPooling' and 'Tensor'`` and
          ``argument 'x1' (position 1) must be Tensor, not BaseModelOutputWithPooling`` from programs that compare
          pictures, texts or sounds by CLIP, SigLIP, CLAP and others.
Cause     The features are the ``pooler_output`` of an object.
Releases  5.0.0 and later, the methods of seventeen models
Upstream  by design (not put back)
Here      An object that such a method has returned answers for its features: their attributes and methods, arithmetic,
          and functions of torch, but only where the program would end. Every other output keeps its errors. An index,
          a loop, ``len`` and ``==`` are those of the object, without an error; calculating with numbers and with
          arrays of numpy raises as before. In a graph of ``torch.compile`` the object is that of the release. Chinese
          CLIP's texts and X-CLIP's videos, whose methods fail in 4.57.6, BLIP-2, whose methods returned objects, and
          models that generate text are left out.
"""

from __future__ import annotations

import ast
import dis
import operator
import sys
import types
from functools import lru_cache, partial
from typing import Any, Callable, Optional
from weakref import WeakKeyDictionary, WeakValueDictionary

from hotfix import asking
from hotfix.fix import Fix
from hotfix.patching import compiling, restoring, scope

FIX = Fix(
    title="AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'norm'",
    kind="removed-api",
    group="removed-names",
    everyone="it remembers, by a weak reference, which objects these methods have returned",
    prefilter="_features(",
    errors=(
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'norm'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'cpu'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'detach'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'shape'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'numpy'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'squeeze'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'to'",
        "AttributeError: 'BaseModelOutputWithPooling' object has no attribute 'T'",
        "TypeError: unsupported operand type(s) for …: 'BaseModelOutputWithPooling' and …",
        "TypeError: unsupported operand type(s) for …: 'Tensor' and 'BaseModelOutputWithPooling'",
        "TypeError: expected Tensor as element … in argument 0, but got BaseModelOutputWithPooling",
        "TypeError: …(): argument … must be Tensor, not BaseModelOutputWithPooling",
    ),
)

IMAGE_TEXT = ("get_image_features", "get_text_features")
MODELS: dict[str, tuple[str, ...]] = {
    "aimv2:Aimv2Model": IMAGE_TEXT,
    "align:AlignModel": IMAGE_TEXT,
    "altclip:AltCLIPModel": IMAGE_TEXT,
    "blip:BlipModel": IMAGE_TEXT,
    "chinese_clip:ChineseCLIPModel": ("get_image_features",),
    "clap:ClapModel": ("get_audio_features", "get_text_features"),
    "clip:CLIPModel": IMAGE_TEXT,
    "clipseg:CLIPSegModel": IMAGE_TEXT,
    "flava:FlavaModel": IMAGE_TEXT,
    "groupvit:GroupViTModel": IMAGE_TEXT,
    "metaclip_2:MetaClip2Model": IMAGE_TEXT,
    "owlv2:Owlv2Model": IMAGE_TEXT,
    "owlvit:OwlViTModel": IMAGE_TEXT,
    "siglip:SiglipModel": IMAGE_TEXT,
    "siglip2:Siglip2Model": IMAGE_TEXT,
    "vision_text_dual_encoder:VisionTextDualEncoderModel": IMAGE_TEXT,
    "x_clip:XCLIPModel": ("get_text_features",),
}
OPERATORS = ("add", "sub", "mul", "truediv", "matmul", "iadd", "isub", "imul", "itruediv")

_returned: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by id
_equipped: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
_noted: set[str] = set()


@FIX.recognises
def returns_an_output(definition: ast.AST) -> bool:
    """A model of the table whose methods return an object."""
    if not isinstance(definition, ast.ClassDef):
        return False
    names = {name for model, names in MODELS.items() if model.endswith(f":{definition.name}") for name in names}
    methods = [each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name in names]
    return bool(methods) and all("BaseModelOutputWithPooling" in ast.unparse(each.returns or each) for each in methods)


def remembering(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the object that a method returns."""

    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = original(self, *args, **kwargs)
        if not compiling.is_compiling() and getattr(output, "pooler_output", None) is not None and _equip(type(output)):
            _returned[id(output)] = output
        return output

    return get


for _model, _methods in MODELS.items():
    _folder, _, _class = _model.partition(":")
    for _method in _methods:
        FIX.wraps(
            (f"transformers.models.{_folder}.modeling_{_folder}:{_class}.{_method}", ">=5.0.0"),
            fingerprint_of=(_class,),
        )(remembering)


@FIX.cleans_up
def restore() -> None:
    """Take the methods from the classes of outputs again."""
    for kind, members in list(_equipped.items()):
        for name, member in members.items():
            if vars(kind).get(name) is member:
                delattr(kind, name)
    _equipped.clear()
    _returned.clear()
    for name in _noted:
        restoring.forget(name)
    _noted.clear()


def _equip(kind: type) -> bool:
    """Give a class of outputs the methods by which an object answers for its features, once."""
    if kind in _equipped:
        return True
    if not scope.was_written_in("transformers", kind) or any("__getattr__" in vars(base) for base in kind.__mro__):
        return False
    members: dict[str, Any] = {"__getattr__": _attribute, "__dir__": _listed}
    members.update({f"__{name}__": _Operator(name) for name in OPERATORS if not hasattr(kind, f"__{name}__")})
    for name, member in members.items():
        setattr(kind, name, member)
    _equipped[kind] = members
    return True


def _further(output: Any, name: str) -> Any:
    """The method that an object has from a class after the library's, such as a mix-in of the program's; or None."""
    owner = _owner(type(output), name)
    return None if owner is None else vars(owner)[name].__get__(output, type(output))


@compiling.settled  # `torch.compile` cannot trace a search in the methods of a built-in class
def _owner(kind: type, name: str) -> Optional[type]:
    """The class after the library's that has a method."""
    order = kind.__mro__
    after = order[next(place for place, base in enumerate(order) if base in _equipped) + 1 :]
    # None of the library's classes has one of these.
    return next((base for base in after if base is not object and name in vars(base) and base not in _equipped), None)


def _is_of_features(output: Any) -> bool:
    return _returned.get(id(output), _noted) is output


def _is_needed(frame: types.FrameType) -> bool:
    """Whether the program would crash with a TypeError; the library itself gets its own answer."""
    return not _is_of_the_library(frame) and not asking.is_handled(TypeError, frame)


def _is_of_the_library(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "transformers"


def _note(output: Any, name: str, frame: types.FrameType) -> None:
    target = f"{type(output).__module__}:{type(output).__qualname__}.{name}"
    _noted.add(target)
    restoring.note(target, FIX.id, frame)


def _attribute(self: Any, name: str) -> Any:
    """What the features have under a name that the object lacks."""
    further = _further(self, "__getattr__")
    if further is not None:
        return further(name)
    if compiling.is_compiling():
        raise restoring.missing(self, type(self), name)
    if _is_of_features(self):
        from torch import Tensor

        frame = sys._getframe(1)
        if name == "__torch_function__" and _is_called(frame) and _is_needed(frame):
            _note(self, name, frame)
            return _call
        is_of_tensors = not name.startswith("_") and hasattr(Tensor, name) and not _is_of_the_library(frame)
        if is_of_tensors and restoring.would_end(AttributeError, frame, name):
            _note(self, name, frame)
            return getattr(self.pooler_output, name)
    object.__getattribute__(self, name)  # raises the error that Python has discarded
    raise restoring.missing(self, type(self), name)


def _listed(self: Any) -> list[str]:
    """The names of an object, without those that it has from here."""
    further = _further(self, "__dir__")
    if further is not None:
        return list(further())
    ours = next(_equipped[kind] for kind in type(self).__mro__ if kind in _equipped)
    # An operator does not answer when the class is asked for it.
    members = {name: member for base in reversed(type(self).__mro__) for name, member in vars(base).items()}
    is_ours = {name for name, member in ours.items() if name != "__dir__" and members.get(name) is member}
    return [name for name in object.__dir__(self) if name not in is_ours]


def _is_called(frame: types.FrameType) -> bool:
    """Whether a function of torch, in C, looks for ``__torch_function__``: no program, and no test for it.

    After `has_torch_function`, torch would look for it in the class, which has none.
    """
    return asking.asker(frame, "__torch_function__") == "unknown" and not _tests(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=1024)
def _tests(code: types.CodeType, at: int) -> bool:
    """Whether code calls ``has_torch_function`` or a variant of it there."""
    name = ""
    for each in dis.get_instructions(code):
        if each.offset >= at:
            break
        if each.opname.startswith("LOAD_") and str(each.argval).startswith("has_torch_function"):
            name = str(each.argval)
        elif each.opname.startswith(("CALL", "POP_JUMP", "STORE", "RETURN")):
            name = ""
    return bool(name)


def _call(function: Any, kinds: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
    """Call a function of torch with features where it was given the object."""
    if function.__name__ in ("eq", "ne"):
        return NotImplemented  # a comparison of the two gives False, without an error
    return function(*_features(args), **_features(kwargs or {}))


def _features(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_features, value))
    if type(value) is dict:
        return {name: _features(part) for name, part in value.items()}
    return value.pooler_output if _is_of_features(value) else value


class _Operator:
    """An operator for the features, with another tensor or other features. By its name the class has none.

    Numbers are left out: numpy calculates with the numbers of an array, one after the other.
    """

    def __init__(self, name: str) -> None:
        self.name = f"__{name}__"
        self.calculate: Callable[[Any, Any], Any] = getattr(operator, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            raise AttributeError(f"type object '{getattr(owner, '__name__', '')}' has no attribute '{self.name}'")
        further = _further(instance, self.name)
        if further is not None:
            return further
        if not compiling.is_compiling() and asking.asker(sys._getframe(1), self.name) != "unknown":
            raise restoring.missing(instance, type(instance), self.name)
        return partial(self.apply, instance)

    def apply(self, output: Any, other: Any) -> Any:
        if compiling.is_compiling() or not _is_of_features(output):
            return NotImplemented
        from torch import Tensor, nn

        if type(other) not in (Tensor, nn.Parameter) and not _is_of_features(other):
            return NotImplemented  # it may know how to calculate with the object
        frame = sys._getframe(1)
        if not _is_needed(frame):
            return NotImplemented
        _note(output, self.name, frame)
        return self.calculate(output.pooler_output, _features(other))
