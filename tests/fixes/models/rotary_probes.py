"""Cases of `test_flash_rotary.py` on the testbed, besides the fix's own case."""

from __future__ import annotations

import types
from typing import Any


def code_files(testbed: Any, target: Any) -> dict[str, Any]:
    """How many functions and methods of Qwen2.5-VL run code that is not upstream's."""
    import torch
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as modeling

    scopes = [modeling, *(cls for cls in vars(modeling).values() if isinstance(cls, type))]
    functions = [
        function for scope in scopes for function in vars(scope).values() if isinstance(function, types.FunctionType)
    ]
    assert len(functions) > 20
    return {
        "functions of hotfix in the module": torch.tensor(
            sum("hotfix/models" in f.__code__.co_filename for f in functions)
        )
    }


def an_ordinary_function(testbed: Any, target: Any) -> dict[str, Any]:
    """Everything that people do with a function, before and after the repair; each entry must be true."""
    import copy
    import inspect
    import pickle
    import sys

    import torch
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as modeling

    from hotfix.proofs.zoo import qwen2_5_vl_with_images

    third = types.ModuleType("third")
    third.rotate = modeling.apply_rotary_pos_emb_flashatt
    sys.modules["third"] = third
    model, batch = qwen2_5_vl_with_images(testbed)  # a model that was built before hotfix
    # The kernel selects a CUDA device, which torch.compile cannot trace on the CPU: it stays a call out of the graph.
    modeling.apply_rotary_emb = torch.compiler.disable(modeling.apply_rotary_emb)
    function, code = third.rotate, third.rotate.__code__
    signature, finders = inspect.signature(function), list(sys.meta_path)
    compiled = torch.compile(_caller(modeling), backend="eager")
    arguments = (
        *(testbed.randn(1, 6, 2, 16, dtype=torch.bfloat16, seed=seed) for seed in (1, 2)),
        *(testbed.randn(6, 16, dtype=torch.bfloat16, seed=seed) for seed in (3, 4)),
    )
    broken_before = _raises(lambda: model(**batch)) and _raises(lambda: compiled(*arguments))

    import hotfix

    handle = hotfix.apply(only=["flash-rotary-dtype"])
    said = [outcome for outcome in hotfix.report() if outcome.state is hotfix.State.APPLIED]
    q, k = function(*arguments)
    results = {
        "broken before": broken_before,
        "a model that was built before works": model(**batch).loss.isfinite(),
        "late is said": len(said) == 1 and said[0].late,
        "a copy in a third module is repaired": third.rotate is modeling.apply_rotary_pos_emb_flashatt,
        "a function compiled before gives the repaired result": _equal(compiled(*arguments), (q, k)),
        "a function compiled after does": _equal(torch.compile(_caller(modeling), backend="eager")(*arguments), (q, k)),
        "pickle": pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function,
        "signature": inspect.signature(function) == signature,
        "getsource gives the release's text": "cos.chunk(2, dim=-1)" in inspect.getsource(function),
    }
    handle.revert()
    results["revert restores the object"] = third.rotate is function and function.__code__ is code
    results["revert restores the meta path"] = sys.meta_path == finders and _raises(lambda: model(**batch))
    return {name: torch.tensor(bool(value)) for name, value in results.items()}


def _caller(modeling: Any) -> Any:
    def call(q: Any, k: Any, cos: Any, sin: Any) -> Any:
        return modeling.apply_rotary_pos_emb_flashatt(q, k, cos, sin)

    return call


def _equal(here: Any, there: Any) -> bool:
    return all(table.equal(other) for table, other in zip(here, there))


def _raises(call: Any) -> bool:
    try:
        call()
    except AssertionError as error:
        return "must have the same dtype" in str(error)
    return False
