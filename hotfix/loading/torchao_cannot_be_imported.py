"""A torchao for another torch makes every model unimportable, even for programs that do not use it.

Symptom   ``ImportError: cannot import name 'ScalingType' from 'torch.nn.functional'`` and others of torchao, from
          ``from transformers import LlamaForCausalLM``.
Cause     The release concludes from metadata that torchao can be used, and imports it at the top of a module that every
          model needs.
Releases  4.57.1 and later; 4.51.0 to 4.56.2 import it elsewhere, and stay as they are
Upstream  reported for torchao 0.18 with torch before 2.10; not fixed
Here      Before such a module imports torchao, it is imported once as a test. If that fails, it counts as missing for
          these modules, and one warning gives the reason. A request for torchao's quantization raises the import's own
          error, and a program that handles that error around its import of a model gets it.
"""

from __future__ import annotations

import ast
import types
from typing import Any, Callable

from hotfix.fix import Fix

from ._loadable import where_it_can_be_imported

FIX = Fix(
    title="A torchao for another torch makes every model unimportable: cannot import name 'ScalingType'",
    kind="loading",
    errors=("ImportError: cannot import name 'ScalingType' from 'torch.nn.functional'",),
    everyone="only modules of the library that import torchao next, and only if that fails",
    needs={"torchao": ">=0.1"},
    prefilter="def is_torchao_available",
)

TORCHAO = "transformers.utils.import_utils:is_torchao_available"
# A function that uses what its module imports from torchao.
USER = "transformers.quantizers.quantizer_torchao:TorchAoHfQuantizer.get_state_dict_and_metadata"


def imports_it(frame: types.FrameType) -> bool:
    """Whether a frame executes a module of the library, at its top."""
    return frame.f_code.co_name == "<module>" and str(frame.f_globals.get("__name__")).startswith("transformers.")


@FIX.wraps((TORCHAO, ">=4.57.1"), fingerprint_of=("is_torchao_available", USER))
def that_can_be_imported(original: Callable[..., Any]) -> Callable[..., Any]:
    """Whether torchao is installed and, for modules that import it, can be imported."""
    return where_it_can_be_imported(original, "torchao", FIX.id, imports_it)


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """Whether a function uses a name that its module imports from torchao."""
    named = (node.id for function in functions for node in ast.walk(function) if isinstance(node, ast.Name))
    return "flatten_tensor_state_dict" in named
