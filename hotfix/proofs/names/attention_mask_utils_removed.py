"""The proof: custom model code imports the functions, and makes masks with them."""

from typing import Any, Callable, Optional

import torch

from hotfix.names.attention_mask_utils_removed import FIX, MODULE, NAMES
from hotfix.proofs.names.asking import same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ModuleNotFoundError: No module named 'transformers.modeling_attn_mask_utils'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import it in each way in which it is imported, and use all of it."""
    import warnings
    from importlib.util import find_spec

    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        exec(f"from {MODULE} import {', '.join(NAMES)}", namespace)
        exec("from transformers import modeling_attn_mask_utils", namespace)
        exec(f"import {MODULE} as module", namespace)
        module = namespace["module"]
        results = {
            "same": torch.tensor([namespace[name] is getattr(module, name) for name in NAMES]),
            "one module": torch.tensor(module is namespace["modeling_attn_mask_utils"]),
            "found": torch.tensor(find_spec(MODULE) is not None),
            "lacks": torch.tensor(hasattr(module, "_prepare_5d_attention_mask")),
            "listed": torch.tensor(set(NAMES) <= set(dir(module))),
            "called": words(module.__name__, module.__package__, *(namespace[name].__module__ for name in NAMES)),
        }
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for sizes in SIZES:
                masks = _masks(testbed.device, module, dtype, *sizes)
                results.update({f"{dtype} {sizes} {name}": mask for name, mask in masks.items()})
        results.update(_refused(testbed.device, module))
        return {**results, **_class(module.AttentionMaskConverter), **_recorded(testbed.device, module)}


SIZES = (
    (1, 4, 0, None),
    (2, 4, 0, None),
    (2, 3, 2, None),
    (2, 1, 4, None),
    (1, 1, 0, None),
    (2, 5, 0, 2),
    (2, 3, 2, 1),
    (2, 1, 4, 2),
    (2, 3, 0, 8),
)
"""Numbers of texts, queries and earlier keys, and the window."""


def _masks(
    device: Any, module: Any, dtype: torch.dtype, texts: int, queries: int, past: int, window: Optional[int]
) -> dict[str, torch.Tensor]:
    """Every function and method, with what models pass to it."""
    converter, causal = module.AttentionMaskConverter, module.AttentionMaskConverter(True, window)
    keys, shape = past + queries, (texts, queries)
    inputs = torch.zeros(texts, queries, 4, dtype=dtype, device=device)
    ones = torch.ones(texts, keys, dtype=torch.int64, device=device)
    left, right = ones.clone(), ones.clone()
    left[-1, : keys // 2] = 0
    right[-1, keys - keys // 3 :] = 0
    square = torch.ones(queries, keys, dtype=dtype, device=device).tril(past).expand(texts, 1, queries, keys)
    tokens = {"ones": ones, "left": left, "right": right.float()}

    results = _seen("created", module._create_4d_causal_attention_mask, shape, dtype, inputs.device, past, window)
    results.update(_seen("by class", causal.to_causal_4d, texts, queries, keys, dtype, device))
    for name, mask in {**tokens, "none": None, "square": square, "square, integers": square.long()}.items():
        given = mask, shape, inputs, past, window
        results.update(_seen(f"{name}, causal", module._prepare_4d_causal_attention_mask, *given))
        results.update(_seen(f"{name}, sdpa", module._prepare_4d_causal_attention_mask_for_sdpa, *given))
        results.update(_seen(f"{name}, ignored", converter._ignore_causal_mask_sdpa, mask, inputs, past, window, True))
    for name, mask in tokens.items():
        encoder = module._prepare_4d_attention_mask
        results.update(_seen(f"{name}, encoder", encoder, mask, dtype, queries))
        results.update(_seen(f"{name}, boolean", encoder, mask.bool(), dtype))
        results.update(_seen(f"{name}, sdpa encoder", module._prepare_4d_attention_mask_for_sdpa, mask, dtype, queries))
        results.update(_seen(f"{name}, both", causal.to_4d, mask, queries, key_value_length=keys, dtype=dtype))
        results.update(_seen(f"{name}, not causal", converter(False).to_4d, mask, queries, dtype))
        rows, lowest = converter._expand_mask(mask, dtype, queries), torch.finfo(dtype).min
        results.update(_seen(f"{name}, unmasked", converter._unmask_unattended, rows, min_dtype=lowest))
    return results


def _refused(device: Any, module: Any) -> dict[str, torch.Tensor]:
    """The errors."""
    converter, ones = module.AttentionMaskConverter, torch.ones(2, 4, device=device)
    inputs, dtype = torch.zeros(2, 3, 4, device=device), torch.float32
    encoder, square = module._prepare_4d_attention_mask, (ones[:, None, None], (2, 3), inputs, 0)
    return {
        **_seen("no window", converter, True, 0),
        **_seen("not causal", converter(False).to_causal_4d, 1, 2, 2, dtype),
        **_seen("a window that is not causal", converter(False, 2).to_4d, ones, 4, dtype),
        **_seen("no number of keys", converter(True).to_4d, ones, 4, dtype),
        **_seen("fewer keys than queries", converter(True).to_causal_4d, 2, 4, 3, dtype),
        **_seen("another shape", module._prepare_4d_causal_attention_mask, *square),
        **_seen("too many dimensions", encoder, ones[None], dtype),
        **_seen("integers", encoder, ones, torch.int64),
        **_seen("a boolean mask", converter._unmask_unattended, ones.bool(), 0.0),
    }


def _seen(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, torch.Tensor]:
    """The result, or the type of the error; of a mask, also its layout."""
    try:
        made = function(*args, **kwargs)
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        made = type(error).__name__
    if isinstance(made, torch.Tensor):
        return {name: made, f"{name}, strides": torch.tensor(made.stride())}
    return {name: words(str(made))}


def _class(converter: Any) -> dict[str, torch.Tensor]:
    """Its attributes, that it is a dataclass, and that a subclass is asked for its own methods."""
    import pickle
    from dataclasses import astuple, fields, replace
    from inspect import signature

    class Own(converter):
        @staticmethod
        def _expand_mask(mask: Any, dtype: Any, tgt_len: Any = None) -> Any:
            return converter._expand_mask(1 - mask, dtype, tgt_len)

    own = Own(is_causal=True, sliding_window=3)
    made = converter(True, 3)
    facts = [
        isinstance(own, converter),
        made == converter(True, 3),
        made == converter(True),
        own == made,
        pickle.loads(pickle.dumps(made)) == made,
        replace(made, sliding_window=None) == converter(True),
        own.is_causal,
    ]
    names = [name for name in sorted(vars(converter)) if not name.startswith("__")]
    return {
        "facts": torch.tensor(facts),
        "repr": words(repr(made), str(astuple(made)), *(field.name for field in fields(converter))),
        "names": words(*names),
        "parameters": words(*(str(list(signature(getattr(converter, n)).parameters)) for n in names if n[0] in "_t")),
        "own": own.to_4d(torch.tensor([[0, 1, 1]]), 3, torch.float32, key_value_length=3),
        "pickled": same_when_pickled(converter),
    }


def _recorded(device: Any, module: Any) -> dict[str, torch.Tensor]:
    """Graphs that are recorded with one length and run with another, and masks without values."""

    def causal(mask: torch.Tensor, inputs: torch.Tensor) -> Any:
        texts, queries = inputs.shape[:2]
        past = mask.shape[1] - queries
        return module._prepare_4d_causal_attention_mask_for_sdpa(mask, (texts, queries), inputs, past)

    def encoder(mask: torch.Tensor) -> Any:
        return module._prepare_4d_attention_mask_for_sdpa(mask, torch.float16)

    first, second = ((torch.ones(2, n, device=device), torch.zeros(2, n, 4, device=device)) for n in (3, 5))
    compiled = torch.compile(causal, backend="eager")
    empty = (torch.ones(2, 5, device="meta"), (2, 3), torch.zeros(2, 3, 4, device="meta"), 2)
    on_meta = module._prepare_4d_causal_attention_mask(*empty)
    return {
        "compiled": compiled(*first),
        "traced": torch.jit.trace(causal, first)(*second),
        "traced by fx": torch.fx.symbolic_trace(encoder)(first[0]),
        "meta": torch.tensor([on_meta.is_meta, *on_meta.shape, *on_meta.stride()]),
    }
