"""``hotfix digest``: the digest of an installed function, as the evidence records it."""

from __future__ import annotations

import argparse

HELP = "print the digest of an installed function"
EXAMPLES = ("hotfix digest transformers.models.qwen2.modeling_qwen2:Qwen2Model._update_causal_mask",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("target", help="module:qualname")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from ..versions import installed, source
    from . import CommandError, screen

    module, _, qualname = chosen.target.partition(":")
    if not module or not qualname:
        raise CommandError(f"{chosen.target!r} is not a target; write it as module:qualname")
    spec = installed.find_spec(module)
    text = installed.source_of(spec)
    function = source.find(text, qualname) if text else None
    if spec is None or function is None:
        what = "no such function or class in it" if text else "no source of this module here"
        raise CommandError(f"{chosen.target}: {what}")
    digest = source.digest(function.node)
    if chosen.json:
        place = {"file": spec.origin, "line": function.lineno}
        screen.print_json({"target": chosen.target, "digest": digest, **place})
    else:
        print(f"{digest}  {chosen.target}  {spec.origin}:{function.lineno}")
    return 0
