"""The table of programs: which exist, how they run, and where their results are kept."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from packaging.version import Version

from hotfix.fix import Fix
from hotfix.pattern import Rewrite
from hotfix.proofs import load as load_proof
from hotfix.reports.digest import code_digest, cure_digest, patch_set_digest
from tools import evidence, matrix, results
from tools.deviations import judge
from tools.deviations.judge import Run, Verdict
from tools.deviations.library import DEVIATIONS, Deviation, digest_of

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "data" / "deviations"
CHILD = "tools.deviations.child:every"
TRAINER = "tools.deviations.training:two_models_both_ways"
UNAFFECTED = "tests.fixes.harmless"
SECONDS = 40  # of processor time for one program
LONGEST_KEY = 40
# Intended differences, by fix and deviation; the page shows them as unclear, with the reason.
ACCEPTED: dict[tuple[str, str], str] = {
    (
        "v5-guard-of-missing-package",
        "target-called-again",
    ): "the pair is of a subclass of tuple, and is shown as a list; its items, its length and comparisons are the same",
    (
        "v5-subclass-weights-not-converted",
        "own-classes-of-the-case",
    ): "a model that stays random gets other random numbers, because the repaired models before it draw none",
    (
        "torchao-cannot-be-imported",
        "names-that-are-probed",
    ): "the release's object of functools.lru_cache is a function with its methods",
    (
        "torchao-cannot-be-imported",
        "keys-that-are-probed",
    ): "the release's object of functools.lru_cache is a function with its methods",
    (
        "torchcodec-cannot-be-imported",
        "names-that-are-probed",
    ): "the release's object of functools.lru_cache is a function with its methods",
    (
        "torchcodec-cannot-be-imported",
        "keys-that-are-probed",
    ): "the release's object of functools.lru_cache is a function with its methods",
    ("qwen2vl-max-pixels-ignored", "target-called-again"): "the other limit of a call is that of the processor; the "
    "reference leaves it out, and only where the method is called by itself, without a size",
    (
        "trainer-save-checkpoint-arity",
        "model-called-again",
    ): "the reference draws the rows of the last batch in another "
    "order; losses and norms are equal, and stock ends after the first step",
    ("qwen2vl-decode-delta-left-padding", "generated-in-two-turns"): "padding between two turns is not counted, as in "
    "the same row without it; the reference counts it",
    ("qwen2vl-decode-delta-left-padding", "target-called-again"): "a later step is prepared without its cache, which "
    "`generate` never does",
    (
        "trainer-dp-loss-mean-num-items",
        "target-called-again",
    ): "each replica computes; the reference multiplies the mean "
    "of a model that ignores the number by the number of devices",
    ("trainer-ga-num-items-dropped", "target-called-again"): "a function in the place of `training_step` records the "
    "calls; `num-items-off-by-one` leaves the number alone beside it, as the first fixed release does",
    (
        "reduced-labels-of-the-last-map",
        "target-called-again",
    ): "the method returns the labels of all images alone; that of the reference returns them in a dict",
    ("vision-lora-checkpointing-no-grad", "cast-to-bfloat16"): "the gradient is 0 in stock, and differs from the "
    "reference by 2 %, since bfloat16 is rounded in another order there",
    (
        "qwen3vl-moe-autocast-scatter",
        "target-called-again",
    ): "stock ends before the case goes on to training, in which the experts are computed in another order",
    (
        "qwen3vl-moe-autocast-scatter",
        "model-called-again",
    ): "stock ends before the case goes on to training, in which the experts are computed in another order",
    (
        "fa2-sliding-window-mask-slicing",
        "target-called-again",
    ): "the call that stock refuses writes into the cache; that "
    "of the reference is of a class whose parts are not compared",
    (
        "gemma2-fa2-no-window",
        "packed-by-positions",
    ): "this release does not keep the texts apart, and the window is that "
    "of the whole row; the reference keeps them apart",
    (
        "gemma3-mask-image-distance-heuristic",
        "packed-by-positions",
    ): "this release does not keep the texts apart, and the images are repaired; the reference keeps them apart",
    (
        "gemma3-mask-image-distance-heuristic",
        "target-called-again",
    ): "the function that is returned has another name",
    (
        "gemma3-bidirectional-across-images",
        "cast-to-bfloat16",
    ): "the loss is that of the reference to 0.04 %, and stock differs by 0.6 %: bfloat16 is rounded in another order",
    ("fa2-posids-varlen-unpadded-batch", "generated-in-two-turns"): "the prompts are continued rightly; the reference "
    "repairs the forward alone, and `generate` two releases later",
    (
        "qwen2vl-text-position-ids-from-mrope",
        "not-causal",
    ): "the reference heeds `is_causal = False` under sdpa, and this "
    "release does not; the gradients are those of the reference without it",
    (
        "qwen2vl-text-position-ids-from-mrope",
        "under-autocast",
    ): "the gradients are those of the reference to 2 %, and those "
    "of stock are 60 % off: half precision is rounded in another order",
    (
        "qwen2vl-text-position-ids-from-mrope",
        "default-dtype-bfloat16",
    ): "the gradient of a bias of the keys is 0 but for rounding",
    ("qwen2vl-text-position-ids-from-mrope", "other-attention-sdpa"): "the gradient of a bias of the keys is 0 but for "
    "rounding",
    (
        "v5-gpt-neox-rotary-pct-lost",
        "subclasses-read-this-release",
    ): "a subclass reads the value that was saved, 0.5; stock loses it",
    (
        "v5-custom-weights-initialised-again",
        "own-model-with-parts",
    ): "the weights of the file stay; stock fills them again",
    (
        "v5-umt5-config-unties-encoder",
        "target-called-again",
    ): "the table of the weights that were read, on stderr, is of another width",
    (
        "v5-subclass-weights-not-converted",
        "target-called-again",
    ): "the table of the weights that were read, on stderr, has fewer rows",
    (
        "v5-subclass-weights-not-converted",
        "model-with-a-part-more",
    ): "the head of the file is read; stock leaves it random",
    (
        "v5-subclass-weights-not-converted",
        "subclasses-read-this-release",
    ): "the weights of the file are read; stock leaves them random",
    ("phi-lm-head-bias", "adapters-like-lora"): "the base layers are not in the files, so they are initialized at "
    "random; the reference draws other numbers",
    ("phi-lm-head-bias", "wrapped-like-peft"): "the model is wrapped before its files are read; the reference raises "
    "the same error",
    **dict.fromkeys(
        (
            ("v5-config-generation-defaults-removed", name)
            for name in (
                "keys-that-are-probed",
                "names-that-are-probed",
                "own-configuration-with-any-arguments",
                "own-configuration-with-argument",
                "subclasses-read-this-release",
            )
        ),
        "a configuration outside of the library has an entry of hotfix's own in its `__dict__`, and the base class a "
        "`__getattr__`, as docs/limits.md says",
    ),
    **dict.fromkeys(
        (("config-reads-of-later-releases", name) for name in ("keys-that-are-probed", "names-that-are-probed")),
        "the base class has a `__getattr__`, as docs/limits.md says",
    ),
    **dict.fromkeys(
        (
            (fix, "keys-that-are-probed")
            for fix in (
                "automodelforvision2seq-removed",
                "automodelwithlmhead-removed",
                "helpers-of-later-releases",
                "names-of-later-releases",
                "pipelines-removed",
            )
        ),
        "a module with restored names has a class of its own, and so an attribute `__module__`, as docs/limits.md says",
    ),
    ("optimizer-train-old-accelerate", "trained-and-resumed"): "stock ends before it saves, and cannot resume from any "
    "checkpoint beside torch 2.6 and later; only the armed run comes as far as that",
    (
        "colpali-size-keys",
        "target-called-again",
    ): "stock ends; what is made instead lacks the fields that the processors of the reference have got since",
    (
        "qwen2-audio-audios-argument",
        "target-called-again",
    ): "the decorator of the reference cannot be called without its "
    "instance in the first place; what is made is what the reference makes otherwise",
    (
        "position-ids-in-state-dict",
        "names-that-are-probed",
    ): "the class has a `_load_from_state_dict` of its own, and not only torch's, as docs/limits.md says",
}
ACCEPTED[("maskformer-swin-mask-dtype", "target-called-again")] = (
    "the layer gets an argument of the release, `head_mask`, that 5.18.0 does not take"
)
ACCEPTED[("v5-own-fast-tokenizer-loses-merges", "own-tokenizer-with-argument")] = (
    "a fast tokenizer of a class with a constructor is what is repaired: it gets the file and no vocabulary"
)
ACCEPTED[("qwenvl-v5-token-types-left-out", "target-called-again")] = (
    "a call without the types is what is repaired; 5.2.0 counts from the tokens, and does not know the argument"
)
ACCEPTED[("label-smoothing-by-micro-batch", "target-called-again")] = (
    "the function around the target keeps num-items-off-by-one from acting: the number has the first label of each "
    "text, and the loss is right but for that"
)
ACCEPTED.update(
    dict.fromkeys(
        (
            ("v5-num-items-undercount-seq2seq", deviation)
            for deviation in (
                "attention-named-like-flash",
                "attention-that-ignores-the-mask",
                "attention-that-is-not-causal",
                "attention-that-reads-positions",
                "cast-to-bfloat16",
                "not-causal",
                "under-autocast",
            )
        ),
        "the T5 of the reference computes otherwise under it; gradients are 7/8 of those of stock, as they should be",
    )
)
ACCEPTED.update(
    dict.fromkeys(
        (
            ("qwen2vl-config-model-type", "model-with-a-part-more"),
            ("qwen2vl-config-model-type", "subclasses-read-this-release"),
        ),
        "the path is written with the whole configuration, not with that of the text, as docs/limits.md says",
    )
)
ACCEPTED.update(
    dict.fromkeys(
        (
            ("trainer-last-accumulation-remainder", "forward-that-refuses-the-number"),
            ("trainer-last-accumulation-remainder", "model-refuses-the-number"),
        ),
        "the rest of an epoch is trained, as it should be; 4.46.1 does not divide the loss of such a model, which "
        "`trainer-ga-multiplied-loss` repairs, and it is not armed here",
    )
)
ACCEPTED.update(
    dict.fromkeys(
        (
            ("deepspeed-double-gas-scaling", "loss-divided-by-number-or-steps"),
            ("deepspeed-double-gas-scaling", "loss-divided-by-steps"),
            ("deepspeed-double-gas-scaling", "loss-of-the-model-divided-by-steps"),
        ),
        "the gradient is that of one batch, as in 4.49.0; the reference, 4.47.0, divides it twice, like stock",
    )
)
ACCEPTED.update(
    {
        ("ga-loss-kwargs-swallowed-vlm", "label-smoothing"): "the gradient is that of one batch; in the reference, as "
        "in stock, label smoothing makes it as many times too large as there are micro-batches",
        (
            "vit-attentions-under-sdpa",
            "under-autocast",
        ): "the gradients are those of the reference to 2 %: the kernel of "
        "sdpa rounds half precision in another order than eager attention",
        ("num-items-off-by-one", "under-autocast"): "the loss is that of the reference, and the gradients are to "
        "1.3 %, while those of stock differ by 17 %: half precision is rounded in another order",
    }
)
_KEY = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Program:
    """A deviation applied to an input of a fix, in one release.

    Attributes:
        cell: fix, target and release.
        deviation: the difference from the library's own code.
        base: see `Deviation.bases`.
    """

    cell: matrix.Cell
    deviation: Deviation
    base: str

    @property
    def name(self) -> str:
        """The key of its result."""
        return self.deviation.name + (f" @ {self.base}" if self.base not in ("case", "") else "")

    @property
    def case(self) -> str:
        """The function that the child runs: ``module:function``, empty for a program of its own."""
        if self.base == "case":
            return name_of_case(self.cell)
        if self.base == "unaffected":
            return f"{UNAFFECTED}:{_unaffected()[self.cell.fix.id]}"
        return TRAINER if self.base == "trainer" else ""

    def __str__(self) -> str:
        return f"{self.cell.fix.id} {self.cell.release} {self.name}"


def name_of_case(cell: matrix.Cell) -> str:
    """``module:function`` of the proof of a fix."""
    case = cell.fix.proof
    assert case is not None
    return f"{case.__module__}:{case.__qualname__}"


def folder_of(module: str) -> str:
    """The folder of a fix, which determines its deviations. Plugins count as fixes of models."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 and parts[0] == "hotfix" else "models"


def cells_of(every: Sequence[matrix.Cell], fix: Fix) -> list[matrix.Cell]:
    """One target in the first and one in the last broken release of a fix: other targets, if there are."""
    own = [cell for cell in every if cell.fix is fix and cell.verdict == "broken"]
    if not own:
        return []
    first, last = (choose(cell.release for cell in own) for choose in (min, max))
    beginning = next(cell for cell in own if cell.release == first)
    others = [cell for cell in own if cell.release == last]
    end = next((cell for cell in others if cell.target.key != beginning.target.key), others[0])
    return [beginning] if beginning.path == end.path else [beginning, end]


def programs_of(cell: matrix.Cell) -> list[Program]:
    """Every program for one cell."""
    folder = folder_of(cell.module)
    programs = []
    for deviation in DEVIATIONS.values():
        if folder not in deviation.folders:
            continue
        for base in deviation.bases:
            if base == "unaffected" and cell.fix.id not in _unaffected():
                continue
            if base == "trainer" and folder != "training":
                continue
            programs.append(Program(cell, deviation, base))
    return programs


def keys_of(cell: matrix.Cell) -> list[str]:
    """The names that a fix uses: the quoted words in its module and its helpers, pieces of patterns included."""
    module = import_module(cell.module)
    sources = [Path(str(module.__file__)).read_text()]
    for target in cell.fix.targets:
        if isinstance(target.implementation, Rewrite):
            sources += [*target.implementation.old, *target.implementation.new]
    keys: dict[str, None] = {}
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        keys.update(dict.fromkeys(_strings(tree)))
    return [key for key in keys if len(key) < LONGEST_KEY]


def _strings(tree: ast.AST) -> Iterable[str]:
    skipped = {
        id(item)
        for item in ast.walk(tree)
        if isinstance(item, ast.keyword) and item.arg in ("id", "title", "kind", "fixed_in")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fix":
            skipped.update(id(inner) for keyword in node.keywords for inner in ast.walk(keyword))
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in skipped else None
        if (
            isinstance(text, str)
            and len(text) > 2
            and _KEY.fullmatch(text.strip("."))
            and not text.startswith("transformers")
        ):
            yield text.strip(".")


@functools.cache
def _unaffected() -> dict[str, str]:
    cases = import_module(UNAFFECTED).CASES
    return {fix: case.__name__ for fix, case in cases.items()}


# -- results -----------------------------------------------------------------------------------------------------------


class Book:
    """The results: a file of sorted JSON for each fix, one line for each program.

    Args:
        folder: of the files.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._data: dict[str, dict[str, Any]] = {}

    def entries(self, fix: str) -> dict[str, Any]:
        """By release and program."""
        if fix not in self._data:
            path = self.folder / f"{fix}.json"
            self._data[fix] = json.loads(path.read_text()) if path.is_file() else {}
        return self._data[fix]

    def entry(self, program: Program) -> dict[str, Any] | None:
        """The result of a program, or None."""
        entry: dict[str, Any] | None = (
            self.entries(program.cell.fix.id).get(str(program.cell.release), {}).get(program.name)
        )
        return entry

    def is_done(self, program: Program) -> bool:
        """Whether there is a result for the current versions of this fix and this deviation."""
        entry = self.entry(program)
        return entry is not None and entry["digest"] == digest(program)

    def enter(self, program: Program, verdict: Verdict, reference: str) -> None:
        """Write a result."""
        entry: dict[str, Any] = {"result": verdict.result, "target": program.cell.target.key, "digest": digest(program)}
        if reference:
            entry["reference"] = reference
        if verdict.detail:
            entry["detail"] = verdict.detail[:400]
        if verdict.differences:
            entry["differences"] = verdict.differences
        with self._lock:
            held = self.entries(program.cell.fix.id)
            held.setdefault(str(program.cell.release), {})[program.name] = entry

    def save(self, fix: str) -> None:
        """Write the file of a fix."""
        with self._lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            releases = sorted(self.entries(fix).items(), key=lambda item: Version(item[0]))
            blocks = []
            for release, programs in releases:
                rows = [f"  {json.dumps(name)}: {json.dumps(programs[name])}" for name in sorted(programs)]
                blocks.append(f" {json.dumps(release)}: {{\n" + ",\n".join(rows) + "\n }")
            partial = self.folder / f"{fix}.partial"
            partial.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")
            partial.replace(self.folder / f"{fix}.json")


def digest(program: Program) -> str:
    """The digests of the fix with its case, and of the deviation."""
    return f"{_digest_of(program.cell.module)} {digest_of(program.deviation)}"


@functools.cache
def _digest_of(module: str) -> str:
    fix = import_module(module).FIX
    case = load_proof(module, fix)
    assert case is not None
    return patch_set_digest([cure_digest(fix), code_digest(case.__module__, proof=True)])


def _errors_of(fix: Fix) -> tuple[str, ...]:
    """Errors that stock raises when the bug is triggered: those that the fix declares or handles as a whole."""
    return (*fix.errors, *(() if isinstance(fix.on_error, bool) else fix.on_error))


# -- runs --------------------------------------------------------------------------------------------------------------


class Table:
    """Runs programs and judges them.

    Args:
        every: all cells of the matrix.
        book: for the results.
        oracles: the results of the matrix, which give the reference of a cell.
        run: the function that runs a case on the testbed; `tools.testbed.run.run_many` if None.
        cache: folder of runs in stock, which do not change with the fixes; None to keep nothing.
    """

    def __init__(
        self,
        every: Sequence[matrix.Cell],
        book: Book,
        oracles: matrix.Book | None = None,
        run: Callable[..., Any] | None = None,
        cache: Path | None = None,
    ) -> None:
        from tools.testbed import run as testbed  # imports torch, which --list does not need

        self.every, self.book = every, book
        self.oracles = oracles or matrix.Book(results.FOLDER)
        self._run_many = run or testbed.run_many
        self._cache = cache
        self._memory = ""  # what glibc fills fresh memory with

    def carry_out(self, programs: Sequence[Program], jobs: int, report: Callable[[str], None] = print) -> None:
        """Run programs, those of one cell together.

        Args:
            programs: the programs.
            jobs: number of cells at a time.
            report: called with a line for each program with a result.
        """
        groups: dict[tuple[str, str, str], list[Program]] = {}
        for program in programs:
            groups.setdefault(program.cell.path, []).append(program)
        began, finished = time.monotonic(), 0
        with ThreadPoolExecutor(jobs) as pool:
            for group, verdicts in zip(groups.values(), pool.map(self._try, groups.values())):
                finished += len(group)
                gone = (time.monotonic() - began) / 60
                report(f"[{finished}/{len(programs)}, {gone:.0f} min] {group[0].cell}")
                for program, verdict in verdicts:
                    if verdict.result in (judge.HARM, judge.UNCLEAR):
                        report(f"    {program.name}: {verdict.result}: {verdict.detail}")

    def _try(self, programs: Sequence[Program]) -> list[tuple[Program, Verdict]]:
        """`try_cell`; a release that cannot be installed costs only its own programs."""
        try:
            return self.try_cell(programs)
        except RuntimeError as error:
            return [(programs[0], Verdict(judge.UNCLEAR, f"nothing was run: {error}"))]

    def try_cell(self, programs: Sequence[Program]) -> list[tuple[Program, Verdict]]:
        """Run programs of one cell and enter their results."""
        cell = programs[0].cell
        with tempfile.TemporaryDirectory() as exchange:
            runs = self._three(programs, cell, exchange)
            verdicts = []
            for program in programs:
                verdict = self._verdict(program, *runs)
                if verdict.result not in (judge.HARM, judge.ABSENT) and program.deviation.files:
                    verdict = self._exchanged(program, exchange, verdict)
                verdicts.append((program, verdict))
        verdicts = [_accepted(program, verdict) for program, verdict in self._confirmed(verdicts)]
        release = str(self._reference(cell) or "")
        for program, verdict in verdicts:
            self.book.enter(program, verdict, release)
        self.book.save(cell.fix.id)
        return verdicts

    def _three(self, programs: Sequence[Program], cell: matrix.Cell, exchange: str) -> list[dict[str, Run]]:
        """The decisive runs, by name: stock, the reference, and armed.

        A deviation that changes no results needs only the armed run, if that equals the plain case there. If the armed
        process equals stock, the reference is not needed.
        """
        others = [program for program in programs if not program.deviation.transparent]
        others = list(dict.fromkeys([*_plains(programs), *others]))
        stock = self._runs(others, cell, armed=False, folder=f"{exchange}/stock")
        wanted = [program for program in programs if program.name not in stock or not stock[program.name].absent]
        armed = self._runs(list(dict.fromkeys([*_plains(programs), *wanted])), cell, True, f"{exchange}/armed")
        apart = [program for program in wanted if program.deviation.transparent and not _is_like_plain(program, armed)]
        stock.update(self._runs(apart, cell, armed=False, folder=f"{exchange}/stock"))
        right: dict[str, Run] = {}
        release = self._reference(cell)
        if release is not None:
            needed = [
                *apart,
                *(program for program in wanted if not program.deviation.strict and not program.deviation.transparent),
            ]
            needed = [program for program in needed if not judge.is_identical(stock[program.name], armed[program.name])]
            needed = list(dict.fromkeys([*_plains(programs), *needed]))
            right = self._runs(needed, replace(cell, release=release), False, f"{exchange}/right")
        return [stock, right, armed]

    def _verdict(
        self, program: Program, stock: Mapping[str, Run], right: Mapping[str, Run], armed: Mapping[str, Run]
    ) -> Verdict:
        plain = _plain_name(program)
        if program.name not in stock and program.name in armed:  # it equals the plain case
            if armed[program.name].absent:
                return Verdict(judge.ABSENT, armed[program.name].absent)
            return judge.judged(
                stock[plain],
                right.get(plain),
                armed[program.name],
                tolerance=_tolerance(program),
                errors=_errors_of(program.cell.fix),
            )
        if (
            plain in stock
            and program.name in armed
            and not armed[program.name].absent
            and not stock[program.name].absent
        ):
            alike = (judge.is_identical(runs[program.name], runs[plain]) for runs in (stock, armed))
            if all(alike):  # it changes nothing, regardless of the reference
                program = replace(program, deviation=DEVIATIONS["plain"])
        return judge.judged(
            stock[program.name],
            right.get(program.name),
            armed.get(program.name, Run()),
            strict=program.deviation.strict,
            instead=right.get(plain) if program.deviation.transparent else None,
            tolerance=_tolerance(program),
            errors=_errors_of(program.cell.fix),
            plain=right.get(plain),
            is_affected=program.base == "case",
        )

    def _confirmed(self, verdicts: list[tuple[Program, Verdict]]) -> list[tuple[Program, Verdict]]:
        """The same verdicts, without harms of programs whose results vary in stock from run to run."""
        harmed = [program for program, verdict in verdicts if verdict.result == judge.HARM]
        if not harmed:
            return verdicts
        first, second = (self._anew(harmed, memory) for memory in ("85", "170"))
        unsteady = {
            program.name: again
            for program in harmed
            if (again := judge.judged(first[program.name], None, second[program.name], strict=True)).result
            == judge.HARM
        }
        return [
            (program, Verdict(judge.ABSENT, f"stock differs from run to run: {unsteady[program.name].detail}"))
            if verdict.result == judge.HARM and program.name in unsteady
            else (program, verdict)
            for program, verdict in verdicts
        ]

    def _anew(self, programs: Sequence[Program], memory: str) -> dict[str, Run]:
        """Run programs in stock, with no result from the cache, and with fresh memory that has a certain content."""
        cache, self._cache, self._memory = self._cache, None, memory
        try:
            with tempfile.TemporaryDirectory() as folder:
                return self._runs(programs, programs[0].cell, armed=False, folder=folder)
        finally:
            self._cache, self._memory = cache, ""

    def _exchanged(self, program: Program, exchange: str, verdict: Verdict) -> Verdict:
        """Whether stock reads the armed process's files like its own, and the armed process reads stock's."""
        cell = program.cell
        places = {who: f"{exchange}/{who}/{program.name}" for who in ("stock", "armed")}
        if not all(Path(place).is_dir() for place in places.values()):
            return verdict
        by_stock = {who: self._read(program, cell, False, place) for who, place in places.items()}
        other = judge.judged(by_stock["stock"], None, by_stock["armed"], strict=True)
        if other.result == judge.HARM:
            return Verdict(judge.HARM, f"saved armed, read by stock: {other.detail}", other.differences)
        by_armed = self._read(program, cell, True, places["stock"])
        other = judge.judged(by_stock["stock"], None, by_armed, strict=True)
        if other.result == judge.HARM and verdict.result == judge.SAME:
            return Verdict(judge.HARM, f"saved by stock, read armed: {other.detail}", other.differences)
        return verdict

    def _read(self, program: Program, cell: matrix.Cell, armed: bool, place: str) -> Run:
        return self._runs([program], cell, armed, folder=place, is_whole=True)[program.name]

    def _reference(self, cell: matrix.Cell) -> Version | None:
        entry = self.oracles.entry(cell)
        named = cell.fix.case_spec.oracles
        release = (entry or {}).get("oracle", named.get(cell.target.key, named.get("*")))
        if release is not None:
            return Version(release) if release else None
        # The matrix has no result of this cell yet: it first tries the next correct release.
        right = {program.release for program in self.every if program.fix is cell.fix and program.verdict == "fixed"}
        return min((program for program in right if program > cell.release), default=max(right, default=None))

    def _runs(
        self, programs: Sequence[Program], cell: matrix.Cell, armed: bool, folder: str, is_whole: bool = False
    ) -> dict[str, Run]:
        """Run programs in one process of one release, by name; a program's own folder is ``folder/NAME``."""
        if not programs:
            return {}
        runs: dict[str, Run] = {}
        files = [program for program in programs if program.deviation.files]
        groups = [[program] for program in files] + [[program for program in programs if not program.deviation.files]]
        for group in filter(None, groups):
            exchange = ""
            if group[0].deviation.files:
                exchange = folder if is_whole else f"{folder}/{group[0].name}"
                Path(exchange).mkdir(parents=True, exist_ok=True)
            runs.update(self._together(group, cell, armed, exchange))
        return runs

    def _together(self, programs: Sequence[Program], cell: matrix.Cell, armed: bool, exchange: str) -> dict[str, Run]:
        fix = cell.fix
        broken = {item.release for item in self.every if item.fix is fix and item.verdict == "broken"}
        others = fix.case_spec.with_fixes if cell.release in broken else ()
        ids = ",".join(sorted({fix.id, *others} if armed else others))
        packages = {**matrix.PACKAGES, **fix.case_spec.packages}
        flash_attn, xformers = packages.pop("flash-attn", None), packages.pop("xformers", None)
        extras = [
            f"{name}=={version}" if version else name for name, version in packages.items() if version is not None
        ]
        settings: dict[str, Any] = {
            "transformers": str(cell.release),
            "flash_attn": flash_attn,
            "xformers": xformers,
            "extras": extras,
        }
        with tempfile.TemporaryDirectory() as folder:
            order: dict[str, Any] = {
                "fix": fix.id,
                "programs": [(program.deviation.name, program.case) for program in programs],
                "places": [f"{item.target.module}:{item.target.qualname}" for item in self._beside(cell)],
                "keys": keys_of(cell),
                "folder": folder,
                "exchange": exchange,
                "seconds": SECONDS,
            }
            kept = None if ids or exchange or self._cache is None else self._cache
            known = (
                {program.name: _cached(kept, program, order, settings, cell) for program in programs} if kept else {}
            )
            runs = {name: run for name, run in known.items() if run is not None}
            left = [program for program in programs if program.name not in runs]
            if left:
                order["programs"] = [(program.deviation.name, program.case) for program in left]
                # A name is restored as it is by default: for all code only if a user opts in.
                env = {"HOTFIX_ONLY": ids, "HOTFIX_OPTIN": matrix.opted_in(",".join(others))} if ids else {}
                if self._memory:
                    env["MALLOC_PERTURB_"] = self._memory
                runs.update(self._run_order(left, cell, order, {**settings, "hotfix": bool(ids), "env": env}))
                if kept:
                    for program in left:
                        _keep(kept, program, order, settings, cell, runs[program.name])
            return runs

    def _run_order(
        self, programs: Sequence[Program], cell: matrix.Cell, order: dict[str, Any], settings: dict[str, Any]
    ) -> dict[str, Run]:
        """Run the programs of an order."""
        import torch

        folder = order["folder"]
        place = Path(folder, "order.json")
        place.write_text(json.dumps(order))
        # Messages of the library print sets, whose order differs from process to process otherwise.
        env = {**settings.pop("env"), "CASE_DEVIATIONS": str(place), "PYTHONHASHSEED": "0"}
        timeout = 5 * SECONDS * len(programs)
        [whole] = self._run_many(CHILD, [cell.target], env=env, timeout=timeout, **settings)
        runs = {}
        for number, program in enumerate(programs):
            written, errors = Path(folder, f"{number}.pt"), Path(folder, f"{number}.err")
            stderr = errors.read_text(errors="replace") if errors.is_file() else ""
            if not written.is_file():
                ended = whole.error or ("ProcessDied", "it did not come to its end")
                runs[program.name] = Run(error=(ended[0], ended[1][:200]), stderr=stderr)
                continue
            data = torch.load(written, weights_only=True)
            error = tuple(data["error"]) if data["error"] else None
            runs[program.name] = Run(data["values"], error, data["absent"], stderr, data["state"], data["applied"])
        return runs

    def _beside(self, cell: matrix.Cell) -> list[matrix.Cell]:
        """The cells of the same fix in the same release, this one first."""
        own = [item for item in self.every if item.fix is cell.fix and item.release == cell.release]
        return [cell, *(item for item in own if item.target.key != cell.target.key and item.verdict == "broken")]


def _accepted(program: Program, verdict: Verdict) -> tuple[Program, Verdict]:
    reason = ACCEPTED.get((program.cell.fix.id, program.deviation.name))
    if verdict.result != judge.HARM or reason is None:
        return program, verdict
    return program, replace(verdict, result=judge.UNCLEAR, detail=f"{reason} ({verdict.detail})")


def _cached(
    cache: Path, program: Program, order: Mapping[str, Any], settings: Mapping[str, Any], cell: matrix.Cell
) -> Run | None:
    """An earlier result of a program in stock, or None."""
    import torch

    place = cache / f"{_stock_digest(program, order, settings, cell)}.pt"
    if not place.is_file():
        return None
    data = torch.load(place, weights_only=True)
    data["error"] = tuple(data["error"]) if data["error"] else None
    return Run(**data)


def _keep(
    cache: Path, program: Program, order: Mapping[str, Any], settings: Mapping[str, Any], cell: matrix.Cell, run: Run
) -> None:
    import torch

    if run.error and run.error[0] in ("ProcessDied", "TimeoutExpired"):
        return  # it may finish another time
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"{_stock_digest(program, order, settings, cell)}.pt"
    partial = place.with_suffix(f".{threading.get_ident()}")
    torch.save({**vars(run), "values": dict(run.values), "state": dict(run.state)}, partial)
    partial.replace(place)


def _stock_digest(program: Program, order: Mapping[str, Any], settings: Mapping[str, Any], cell: matrix.Cell) -> str:
    """Digest of all inputs of a run in stock: the release, the case, and the deviations' own source."""
    case = program.case.partition(":")[0]
    parts = [
        program.name,
        program.case,
        code_digest(case, proof=True) if case.startswith("hotfix.") else _source(),
        json.dumps([order["places"], order["keys"], str(cell.target)]),
        json.dumps(settings, sort_keys=True),
        _source(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


@functools.cache
def _source() -> str:
    """Digest of the code that runs in the child, and of the inputs that do not trigger bugs."""
    here = Path(__file__).resolve().parent
    files = [path for path in sorted(here.glob("*.py")) if path.stem not in ("table", "page", "judge", "__main__")]
    files.append(here.parents[1] / "tests" / "fixes" / "harmless.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _plains(programs: Iterable[Program]) -> list[Program]:
    """The same programs without their deviations."""
    wanted = {(program.cell.path, program.base): program for program in programs if program.base}
    return [replace(value, deviation=DEVIATIONS["plain"]) for value in wanted.values()]


def _plain_name(program: Program) -> str:
    return replace(program, deviation=DEVIATIONS["plain"]).name


def _is_like_plain(program: Program, armed: Mapping[str, Run]) -> bool:
    own = armed[program.name]
    return bool(own.absent) or judge.is_identical(own, armed[_plain_name(program)])


def _tolerance(program: Program) -> Mapping[str, float]:
    """The tolerance of the fix; if everything is computed in half precision, derived numbers are no more precise."""
    own = program.cell.fix.case_spec.tolerance
    return {**own, "float32": 0.02, "float64": 0.02} if "bfloat16" in program.deviation.name else own


def sample_of(programs: Iterable[Program], size: int, seed: str, releases: int = 3) -> list[Program]:
    """Some programs, sampled by a seed, from a few cells: the shared set-up of a cell costs more than a program."""
    by_cell: dict[tuple[str, str, str], list[Program]] = {}
    for program in sorted(programs, key=lambda program: _place(seed, str(program))):
        by_cell.setdefault(program.cell.path, []).append(program)
    share = -(-size // releases)
    chosen: list[Program] = []
    for path in sorted(by_cell, key=lambda path: _place(seed, *path)):
        chosen += by_cell[path][: min(share, size - len(chosen))]
    return chosen


def _place(*words: str) -> bytes:
    return hashlib.sha256(" ".join(words).encode()).digest()


def default_on(problem: Callable[[str], None] = lambda value: None) -> tuple[list[matrix.Cell], list[Fix]]:
    """All cells of the matrix, and the fixes that are on by default.

    Args:
        problem: called with a sentence for each module that cannot be imported.
    """
    modules = evidence.discover(problem, proofs=True)
    return matrix.every_cell(), [fix for fix in modules.values() if not fix.optin]


def chosen(
    every: Sequence[matrix.Cell],
    fixes: Iterable[Fix],
    *,
    names: Collection[str] = (),
    deviations: Collection[str] = (),
    releases: Collection[str] = (),
    folders: Collection[str] = (),
    bases: Collection[str] = (),
) -> list[Program]:
    """The programs that a command line selects."""
    rounds: list[list[matrix.Cell]] = [[], []]  # every fix gets one turn before any gets a second
    for fix in fixes:
        if names and fix.id not in names:
            continue
        own = [cell for cell in cells_of(every, fix) if not releases or str(cell.release) in releases]
        for turn, cell in zip(rounds, reversed(own)):
            if not folders or folder_of(cell.module) in folders:
                turn.append(cell)
    # A release is prepared once for all its fixes.
    cells = [cell for turn in rounds for cell in sorted(turn, key=lambda cell: (cell.release, cell.fix.id))]
    programs = [program for cell in cells for program in programs_of(cell)]
    return [
        program
        for program in programs
        if (not deviations or program.deviation.name in deviations) and (not bases or program.base in bases)
    ]


def counts(results: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """The number of entries with each result."""
    output = dict.fromkeys(judge.RESULTS, 0)
    for programs in results.values():
        for entry in programs.values():
            output[entry["result"]] += 1
    return output
