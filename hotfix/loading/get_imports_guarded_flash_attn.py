"""Remote code that imports flash-attn only if it is available is refused without it.

Symptom   ``ImportError: This modeling file requires the following packages that were not found in your environment:
          flash_attn`` for Florence-2, Phi-3 and many more on machines without flash-attn, although their files import
          it under ``if is_flash_attn_2_available():`` alone.
Cause     The release finds the imports of a file by regular expressions. Up to 4.44.2 they ignore conditions; later
          they recognize those whose block has only lines that begin with ``from flash_attn``.
Releases  4.36.0 to 4.50.3
Upstream  transformers#36604 and others; fixed in 4.51.0, which reads the syntax tree
Here      If the release refuses a file, it looks again, and ignores imports under such a condition, in a ``try``, or
          outside of a statement (in a docstring). It never demands more than before, as 4.51.0 does for
          ``import x as y``. The result of ``get_imports`` stays: the published workaround for this bug removes
          flash_attn from it.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="Remote code that can run without flash-attn is rejected if flash-attn is not installed",
    kind="loading",
    errors=(
        "ImportError: This modeling file requires the following packages that were not found in your environment: "
        "flash_attn. Run `pip install flash_attn`",
    ),
    on_error=(
        "ImportError: This modeling file requires the following packages that were not found in your environment: …",
    ),
    fixed_in="4.51.0",
    prefilter="def get_imports",
)


FIX.edits(
    ("transformers.dynamic_module_utils:check_imports", ">=4.36.0,<=4.50.3"),
    old="imports = get_imports(filename)",
    new=f"""
        from {__name__} import unconditional
        imports = unconditional(get_imports(filename), filename)
        """,
    fingerprint_of=("check_imports", "get_imports"),
)


def unconditional(demanded: list[str], filename: Any) -> list[str]:
    """The packages that a file imports unconditionally.

    Args:
        demanded: packages from the release's function, or from the program's function in its place.
        filename: the file.
    """
    with open(filename, encoding="utf-8") as file:
        text = file.read()
    imported: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and asks_for_flash_attn(node.test)):
            continue
        if isinstance(node, ast.Import):
            imported.update(name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.partition(".")[0])
        waiting += ast.iter_child_nodes(node)
    return [name for name in demanded if name in imported]


def asks_for_flash_attn(test: ast.expr) -> bool:
    """Whether a condition calls one of the functions that look for flash-attn."""
    called = (node.func for node in ast.walk(test) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Name) and function.id.startswith("is_flash_attn") for function in called)


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """Whether imports are found with regular expressions."""
    return {function.name for function in functions} == {"check_imports", "get_imports"} and any(
        isinstance(node, ast.Attribute) and node.attr == "findall"
        for function in functions
        if function.name == "get_imports"
        for node in ast.walk(function)
    )
