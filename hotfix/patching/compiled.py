"""Graphs that ``torch.compile`` made from functions before they were changed.

A graph keeps the body that was traced. A function changed before its first call is traced with its new body; a graph
made earlier must be dropped.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Callable, Optional


def forget_graphs() -> bool:
    """Drop all graphs, so that everything is compiled again. Returns whether there may have been any."""
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is None or not hasattr(dynamo, "reset"):
        return False
    dynamo.reset()
    return True


def is_scripted(function: types.FunctionType) -> bool:
    """Whether ``torch.jit.script`` has compiled this function, or a module class that has it as a method.

    It compiles the source file, which an edit does not change.
    """
    state: Any = sys.modules.get("torch.jit._state")
    recursive: Any = sys.modules.get("torch.jit._recursive")
    ask = getattr(state, "_try_get_jit_cached_function", None)
    if ask is not None and ask(function) is not None:
        return True
    store = getattr(recursive, "concrete_type_store", None)
    classes = [getattr(kind, "__mro__", ()) for kind in getattr(store, "type_store", ())]
    return any(function in vars(kind).values() for mro in classes for kind in mro)


def stale_graphs() -> Optional[str]:
    """Why torch may run graphs of an earlier, unrepaired process, as a sentence; else None."""
    config: Any = sys.modules.get("torch._dynamo.config")
    asked = os.environ.get("TORCH_CACHING_PRECOMPILE") == "1"
    if asked or getattr(config, "caching_precompile", False):
        return (
            "TORCH_CACHING_PRECOMPILE is on: torch may take graphs of unrepaired functions from its cache. Unset it, "
            "or give this patch set a cache of its own (TORCHINDUCTOR_CACHE_DIR)."
        )
    return None


def beyond_reach(at_the_end: bool) -> Optional[str]:
    """Why functions may have run in this process without their Python code, as a sentence; else None.

    Torch can execute a model from a file: none of its functions is then called, counted or repaired.

    Args:
        at_the_end: whether to look for artifacts among all objects, which may take a second.
    """
    if stale_graphs():
        return "TORCH_CACHING_PRECOMPILE is on, and torch runs graphs of another process without tracing them."
    kinds = artifacts() if at_the_end else []
    return f"Artifacts that were compiled ahead of time are loaded ({', '.join(kinds)})." if kinds else None


def unchecked(is_repaired: Callable[[str], bool], digest: Callable[[], str]) -> list[str]:
    """The loaded artifacts that an unrepaired process may have compiled, each in a few words.

    An AOTInductor package names its patch set in its metadata, under ``hotfix``; without that entry its contents are
    unknown. The other artifacts list the modules that they were made from.

    Args:
        is_repaired: whether a module of this name has repairs, or may have.
        digest: computes the digest of this process.
    """
    names = []
    for artifact in _loaded():
        kind = type(artifact).__name__
        if kind == "AOTICompiledModel":
            made_with = artifact.get_metadata().get("hotfix")
            if made_with != digest():
                names.append(
                    f"an AOTInductor package ({f'made with {made_with}' if made_with else 'made with an unknown'}"
                    " patch set)"
                )
        elif any(map(is_repaired, _modules_in(artifact))):
            names.append("an exported program" if kind == "ExportedProgram" else "a function compiled ahead of time")
    return list(dict.fromkeys(names))


def artifacts() -> list[str]:
    """The class names of the loaded artifacts."""
    return sorted({type(artifact).__name__ for artifact in _loaded()})


# Classes that torch loads from a file and executes, with the modules that define them in some release.
_ARTIFACTS = {
    "AOTICompiledModel": ("torch.export.pt2_archive._package", "torch._inductor.package.package"),
    "AOTCompiledFunction": ("torch._dynamo.aot_compile",),
    "ExportedProgram": ("torch.export.exported_program",),
}


def _loaded() -> list[Any]:
    """The artifacts that were loaded from a file, among all live objects."""
    kinds = {getattr(sys.modules.get(module), name, None) for name, modules in _ARTIFACTS.items() for module in modules}
    kinds.discard(None)
    if not kinds:
        return []
    import gc

    every = [subject for subject in gc.get_objects() if type(subject) in kinds]
    return [subject for subject in every if type(subject).__name__ != "ExportedProgram" or _is_from_file(subject)]


def _is_from_file(program: Any) -> bool:
    """Whether an exported program was loaded from a file: the traced shapes of its nodes are not saved."""
    return not any("tensor_meta" in node.meta for node in program.graph.nodes)


def _modules_in(artifact: Any) -> set[str]:
    """The names of the modules whose code was compiled or exported, as far as the artifact lists them."""
    sources = getattr(getattr(artifact, "_artifacts", None), "source_info", None)
    names = {str(source.module) for source in getattr(sources, "inlined_sources", ())}
    for node in artifact.graph.nodes if type(artifact).__name__ == "ExportedProgram" else ():
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            qualname = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
            names.add(qualname.rpartition(".")[0])
    return names
