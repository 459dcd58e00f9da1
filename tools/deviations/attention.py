"""Custom attention, and positions that pack several texts into one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.deviations.registry import deviation
from tools.deviations.scene import NotHere, Scene


@deviation("models", "training")
def attention_named_like_flash(scene: Scene) -> None:
    """A registered attention called `sdpa_flash` that does what the library's sdpa does."""
    _register(scene, "sdpa_flash", lambda original: _calling(original))


@deviation("models", "training")
def attention_that_ignores_the_mask(scene: Scene) -> None:
    """A registered attention called `my_flash` that is causal by itself, whatever mask it gets."""
    _register(scene, "my_flash", lambda original: _without_mask(original))


@deviation("models", "training")
def attention_that_reads_positions(scene: Scene) -> None:
    """A registered attention that reads `position_ids` and keeps packed texts apart."""
    _register(scene, "sdpa_positions", _reading_positions)


@deviation("models", "training")
def attention_that_is_not_causal(scene: Scene) -> None:
    """A registered attention called `flash_prefix` in which every token sees every other."""
    _register(scene, "flash_prefix", lambda original: _without_mask(original, is_causal=False))


@deviation("models", "training")
def packed_by_positions(scene: Scene) -> None:
    """Two texts are packed into each row and kept apart by `position_ids` that begin again."""
    import torch

    def change(module: Any, arguments: Any, options: Any) -> Any:
        ids = options.get("input_ids", arguments[0] if arguments else None)
        if ids is None or not hasattr(ids, "shape") or ids.ndim != 2 or ids.shape[1] < 4:
            return None
        if options.get("past_key_values") is not None or options.get("position_ids") is not None:
            return None
        half = ids.shape[1] // 2
        positions = torch.cat([torch.arange(half), torch.arange(ids.shape[1] - half)]).to(ids.device)
        scene.touch()
        given = {name: value for name, value in options.items() if name not in ("attention_mask", "input_ids")}
        return (), {**given, "input_ids": ids, "position_ids": positions.expand_as(ids), "use_cache": False}

    scene.on_models(
        lambda model: _takes_positions(model) and model.register_forward_pre_hook(change, with_kwargs=True) and None
    )


@deviation("models")
def other_attention_eager(scene: Scene) -> None:
    """The model runs with eager attention."""
    _with_attention(scene, "eager")


@deviation("models")
def other_attention_sdpa(scene: Scene) -> None:
    """The model runs with sdpa."""
    _with_attention(scene, "sdpa")


# -- below: how they are made ------------------------------------------------------------------------------------------


def _register(scene: Scene, name: str, make: Callable[[Any], Any]) -> None:
    from transformers import modeling_utils

    functions = getattr(modeling_utils, "ALL_ATTENTION_FUNCTIONS", None)
    if functions is None:
        raise NotHere("this release has no registered attention")
    own = make(functions["sdpa"])
    own.__module__ = "own_code"
    if hasattr(functions, "register"):
        functions.register(name, own)
    else:
        functions[name] = own
    try:
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as MASKS
    except ImportError:
        pass
    else:
        MASKS.register(name, MASKS["sdpa"])

    def change(model: Any) -> None:
        for part in model.modules():
            config = getattr(part, "config", None)
            if config is not None and getattr(config, "_attn_implementation", None):
                config._attn_implementation = name
                for inner in vars(config).values():
                    if hasattr(inner, "_attn_implementation"):
                        inner._attn_implementation = name
                scene.touch()

    scene.testbed.assert_flash = lambda *names: None
    scene.on_models(change)


def _calling(original: Any) -> Any:
    def own(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *arguments: Any, **options: Any) -> Any:
        return original(module, query, key, value, attention_mask, *arguments, **options)

    return own


def _attend(module: Any, query: Any, key: Any, value: Any, mask: Any, options: Any, is_causal: bool) -> Any:
    import torch

    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scale = options.get("scaling")
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=is_causal and mask is None and query.shape[2] > 1, scale=scale
    )
    return output.transpose(1, 2).contiguous(), None


def _without_mask(original: Any, is_causal: bool = True) -> Any:
    def own(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *arguments: Any, **options: Any) -> Any:
        return _attend(module, query, key, value, None, options, is_causal)

    return own


def _reading_positions(original: Any) -> Any:
    import torch

    def own(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, *arguments: Any, **options: Any) -> Any:
        positions = options.get("position_ids")
        if positions is None or query.shape[2] != key.shape[2]:
            return original(module, query, key, value, attention_mask, *arguments, **options)
        rows = positions if positions.ndim == 2 else positions[0]
        texts = (rows == rows[:, :1]).cumsum(-1)
        apart = (texts[:, None, :, None] == texts[:, None, None, :]).to(query.device)
        causal = torch.ones(query.shape[2], query.shape[2], dtype=torch.bool, device=query.device).tril()
        return _attend(module, query, key, value, apart & causal, options, is_causal=False)

    return own


def _takes_positions(model: Any) -> bool:
    import inspect

    return "position_ids" in inspect.signature(model.forward).parameters


def _with_attention(scene: Scene, attention: str) -> None:
    from hotfix.proofs.testbed import Testbed

    build = Testbed.model

    def model(self: Any, cls: Any, config: Any, attn: str = "flash_attention_2", **options: Any) -> Any:
        scene.touched += attn != attention
        return build(self, cls, config, attention, **options)

    Testbed.model = model  # type: ignore[method-assign, assignment]
    scene.testbed.assert_flash = lambda *names: None
