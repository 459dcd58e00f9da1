"""Remote code that imports flash-attn only where it is available demands it everywhere.

Symptom   ``ImportError: This modeling file requires the following packages that were not found in your environment:
          flash_attn`` for Florence-2, Phi-3 and many more on machines without flash-attn, although their files import
          it under ``if is_flash_attn_2_available():`` alone.
Cause     What a file needs is found by regular expressions. Up to 4.44.2 they know no conditions, later they know
          those whose block has nothing but lines that begin with ``from flash_attn``.
Releases  4.36.0 to 4.50.3
Upstream  transformers#36604 and others; fixed in 4.51.0, which reads the syntax tree
Here      Where the release refuses a file, it looks again, without what the syntax tree has under such a condition, in
          a ``try`` or in no statement at all (an import in a docstring). Nothing is demanded that was not before, as
          4.51.0 would for ``import x as y``. ``get_imports`` returns what it did: the published work-around for this
          bug takes flash_attn off its list.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="Remote code that does without flash-attn is refused where flash-attn is not installed",
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
    """Packages that a file imports whatever is installed.

    Args:
        demanded: what the release, or the function that the program has put in its place, says that the file needs.
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
    """Whether a condition calls one of the functions that tell of flash-attn."""
    calls = (node.func for node in ast.walk(test) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id.startswith("is_flash_attn") for one in calls)


@FIX.recognises
def is_broken(*functions: ast.FunctionDef) -> bool:
    """What a file needs is looked for with regular expressions."""
    return {function.name for function in functions} == {"check_imports", "get_imports"} and any(
        isinstance(node, ast.Attribute) and node.attr == "findall"
        for function in functions
        if function.name == "get_imports"
        for node in ast.walk(function)
    )
