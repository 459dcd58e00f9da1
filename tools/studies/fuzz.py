"""The gate and the editor against mutated sources: ``python -m tools.studies.fuzz``, `nox -s fuzz`.

A mutant is the source of a target, changed at random: comments, blank lines, other layout, another docstring (these are
harmless); another operator, name or number, a statement less or twice; a second definition; text that is cut, doubled
or garbled. The sources are those of the tests' toy, and of releases whose wheels are in the cache. It must hold that

- a mutant whose digest is not in the evidence is never called broken or fixed, unless the fix trusts its matcher;
- a mutant that differs in comments, layout and docstrings only has the verdict of its original;
- the quick way to a definition finds what the sure one finds;
- an edit either fits, and its result compiles and is another program, or refuses;
- nothing else than `Refusal` is raised.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hotfix.engine.catalogue import Catalogue
from hotfix.errors import Refusal
from hotfix.fix import ALWAYS, Fix, Target
from hotfix.patching import code
from hotfix.versions import source, verdict
from hotfix.versions.judgement import Judgement, Verdict
from tools import wheels
from tools.toy import TOY

OPERATORS = ("+", "-", "*", "//", "==", "!=", "<", ">", " and ", " or ", " not ", "[", "]", "(", ")", ":", ",")


@dataclass(frozen=True)
class Seed:
    """A target in a source of which it is known what it is."""

    fix: Fix
    target: Target
    texts: dict[str, str]
    origin: str

    def judged(self, text: str) -> Judgement:
        """The verdict, with `text` in place of the target's module."""
        return verdict.judge(self.fix, self.target, {**self.texts, self.target.module: text}.get)


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--releases", type=int, default=6, help="how many of the releases in the cache")
    options = parser.parse_args(arguments)
    # Warnings about mutants do not matter, nor which packages are installed: each bug is judged as if all were there.
    warnings.simplefilter("ignore")
    verdict._lacking = lambda fix: None
    luck = random.Random(options.seed)
    seeds = [*toys(), *released(options.releases, luck)]
    releases = len({seed.origin for seed in seeds}) - 1
    print(f"{len(seeds)} sources, of the toy and of {releases} releases (the wheels in the cache), seed {options.seed}")
    counts, wrong = run(seeds, options.mutants, luck)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    for sentence in wrong[:20]:
        print(f"WRONG: {sentence}")
    print(f"{options.mutants} mutants, {len(wrong)} wrong")
    return bool(wrong)


def run(seeds: list[Seed], mutants: int, luck: random.Random) -> tuple[Counter[str], list[str]]:
    """Judge and edit mutants.

    Returns:
        How many had which verdict and outcome, and a sentence for everything that was wrong.
    """
    counts: Counter[str] = Counter()
    wrong = []
    for number in range(mutants):
        seed = luck.choice(seeds)
        text = seed.texts[seed.target.module]
        kind = luck.choice(tuple(MUTATIONS))
        mutant = MUTATIONS[kind](text, seed.target, luck)
        try:
            problem = problem_with(seed, text, mutant, kind == "harmless", counts)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            wrong.append(f"mutant {number} ({kind}) of {seed.target} in {seed.origin}: {problem}")
    return counts, wrong


def problem_with(seed: Seed, text: str, mutant: str, harmless: bool, counts: Counter[str]) -> str | None:
    """The error in the verdict of a mutant, or None."""
    judgement = seed.judged(mutant)
    counts[judgement.verdict.value] += 1
    known = verdict.evidence(verdict.evidence_file(seed.fix)).get(seed.target.key, {})
    decided = judgement.verdict in (Verdict.BROKEN, Verdict.FIXED)
    if decided and not seed.fix.matcher_decides and known.get(judgement.source) is not judgement.verdict:
        return f"{judgement.verdict.value}, but the evidence has no {judgement.source}"
    if harmless and judgement.verdict is not seed.judged(text).verdict:
        return f"{judgement.verdict.value}, but only comments and layout differ"
    module, qualname = seed.target.edited_name()
    quick = source._find_quickly(mutant, qualname) if module == seed.target.module else None
    sure = source._find_surely(mutant, qualname) if quick else None
    if quick and sure and ast.dump(quick.node) != ast.dump(sure.node):
        return "the quick search finds another definition than the sure one"
    if seed.target.way.edits_source and module == seed.target.module:
        counts[edited(seed.target, mutant, qualname)] += 1
    return None


def edited(target: Target, mutant: str, qualname: str) -> str:
    """The outcome of an edit: it fits, or was refused."""
    definition = source.find(mutant, qualname)
    if definition is None:
        return "without the target"
    try:
        alone = code.standing_alone(definition, qualname)
        before = code.compiled(source.parse(alone), qualname)
    except (Refusal, SyntaxError, ValueError):
        return "not compiled"  # code that does not compile does not run
    try:
        # Without its condition, whose code is new whatever becomes of the edit.
        after = code.edited_code(code.Written(qualname, alone, before), [target._replace(condition=ALWAYS)])
    except Refusal:
        return "refused"
    if code.same_program(before, after):
        raise AssertionError("the edit fits and changes nothing")
    return "edited"


# ---------------------------------------------------------------------------------------------------------------------
# Below: sources.


def toys() -> Iterator[Seed]:
    """The toy of the tests, with an edit and a replacement."""
    for qualname, old, new in (("scale", "x + factor", "x * factor"), ("Layer.halve", "x - 2", "x / 2")):
        fix = Fix(id=f"toy-{qualname}", title="", kind="crash")
        fix.edits(f"toys.toy:{qualname}", old=old, new=new)
        yield Seed(fix, fix.targets[0], {"toys.toy": TOY}, "the toy")


def released(number: int, luck: random.Random) -> Iterator[Seed]:
    """Targets in releases whose wheels are in the cache."""
    paths = [*wheels.cached("transformers", wheels.default_cache()).values()]
    fixes = [entry.load() for entry in Catalogue(print).entries.values() if ":" not in entry.id]
    for wheel in sorted(luck.sample(paths, min(number, len(paths)))):
        with zipfile.ZipFile(wheel) as packed:
            names = set(packed.namelist())
            for fix in fixes:
                for target in fix.targets:
                    texts = {}
                    for module, _ in target.fingerprint_names():
                        stem = module.replace(".", "/")
                        path = next((path_ for path_ in (f"{stem}.py", f"{stem}/__init__.py") if path_ in names), None)
                        if path:
                            texts[module] = packed.read(path).decode("utf-8")
                    if target.module in texts:
                        yield Seed(fix, target, texts, wheel.name)


# ---------------------------------------------------------------------------------------------------------------------
# Below: mutations. Each takes a text, a target in it and luck, and returns another text.


def _place(text: str, target: Target) -> tuple[int, int]:
    """The place of the target, as offsets; anywhere, if it is not found."""
    definition = source.find(text, target.fingerprint_names()[0][1])
    if definition is None:
        return 0, len(text)
    start = sum(map(len, source.lines_of(text)[: definition.lineno - 1]))
    return start, start + len(definition.text)


def harmless(text: str, target: Target, luck: random.Random) -> str:
    """Comments, blank lines, line ends, other docstrings: as far as they keep the syntax tree."""
    start, end = _place(text, target)
    lines = text[start:end].split("\n")
    for _ in range(luck.randint(1, 8)):
        at = luck.randrange(len(lines))
        change = luck.choice(("comment", "blank", "spaces", "whole", "feed", "docstring"))
        if change == "comment":
            lines[at] += luck.choice(("  # \u2028 a comment", "  # def f(): '''", "\t# \x1c"))
        elif change == "blank":
            lines.insert(at, luck.choice(("", "    ", "\t")))
        elif change == "spaces":
            lines[at] = re.sub(r" ([-+*/=<>]) ", r"  \1   ", lines[at])
        elif change == "whole":
            lines.insert(at, luck.choice(("# at column zero", "            # deep")))
        elif change == "feed":
            lines[at] += " \x0c"
        else:
            lines = re.sub(r'"""[^"\\{]*"""', '"""Another."""', "\n".join(lines), count=1).split("\n")
    mutant = text[:start] + "\n".join(lines) + text[end:]
    return mutant if _is_same(text, mutant, target) else text


def _is_same(text: str, mutant: str, target: Target) -> bool:
    """Whether all definitions that are judged are the same, by Python's own parser and not by ours."""
    for module, qualname in target.fingerprint_names():
        if module == target.module:
            trees = [_dumped(content, qualname) for content in (text, mutant)]
            if trees[0] is None or trees[0] != trees[1]:
                return False
    return True


def _dumped(text: str, qualname: str) -> str | None:
    try:
        node: ast.AST = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for part in qualname.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        named = [child for child in ast.walk(node) if isinstance(child, kinds) and child.name == part]
        if len(named) != 1:
            return None  # which one is meant is not for this to tell
        node = named[0]
    for child in ast.walk(node):
        body: Any = getattr(child, "body", None)
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(child, False):
            del body[0]
    return ast.dump(node)


def another_token(text: str, target: Target, luck: random.Random) -> str:
    """A name, number or operator is another one."""
    start, end = _place(text, target)
    tokens = list(re.finditer(r"[A-Za-z_]\w*|\d+|[-+*/<>=!]+", text[start:end]))
    for match in sorted(luck.sample(tokens, min(len(tokens), luck.randint(1, 3))), key=lambda match: -match.start()):
        new = luck.choice((luck.choice(tokens)[0], luck.choice(OPERATORS), str(luck.randint(0, 9))))
        text = text[: start + match.start()] + new + text[start + match.end() :]
    return text


def another_statement(text: str, target: Target, luck: random.Random) -> str:
    """Lines are gone, twice there, or elsewhere."""
    start, end = _place(text, target)
    lines = text[start:end].split("\n")
    for _ in range(luck.randint(1, 3)):
        at, line = luck.randrange(len(lines)), luck.choice(lines)
        lines[at : at + luck.randint(0, 1)] = luck.choice(([line], [], [line, line], ["if x:", "    " + line]))
        lines = lines or [""]
    return text[:start] + "\n".join(lines) + text[end:]


def defined_twice(text: str, target: Target, luck: random.Random) -> str:
    """The definition comes again: later, deeper, under a condition, changed."""
    start, end = _place(text, target)
    again = another_token(text, target, luck)[start:end] if luck.random() < 0.5 else text[start:end]
    head = luck.choice(("", "if True:\n", "try:\n    pass\nfinally:\n", "def f():\n", "class Other:\n"))
    indented = again if not head else head + re.sub(r"(?m)^(?=.)", "    ", again)
    return luck.choice((text[:start] + indented + "\n" + text[start:], text + "\n" + indented))


def garbled(text: str, target: Target, luck: random.Random) -> str:
    """Text that is cut, doubled, or has characters that do not belong there."""
    start, end = _place(text, target)
    at = luck.randint(start, end)
    odd = luck.choice(
        ("\x00", "\u2028", "\x0c", "\x0b", "\x1c", "\r", "\ufeff", "\ud800", '"""', "'", "\\", "\t", "\\d")
    )
    return luck.choice((text[:at], text[:at] + odd + text[at:], text[:at] + text[start:], text.replace("\n", "\r\n")))


MUTATIONS = {
    mutation.__name__: mutation for mutation in (harmless, another_token, another_statement, defined_twice, garbled)
}


if __name__ == "__main__":
    sys.exit(main())
