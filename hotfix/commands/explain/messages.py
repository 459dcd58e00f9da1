"""Find a bug by the error message that somebody saw.

A message in the wild has other numbers, names and paths than the known one. It is cut off at either end, wrapped by a
terminal and prefixed with a rank. Its form decides which parts have to agree:

* Some messages quote the missing thing: a name that cannot be imported, an attribute, a keyword, a module. The missing
  thing has to be that of the known message, and its owner has to agree as well: ``…`` in a known message is any text.
* Any other message is compared word by word, in order. The score is the share of the known message that occurs in the
  other one; rare words count more than frequent ones. Names in between have to agree.
* Messages of Python and torch about anybody's code ("index 3 is out of bounds") name no bug by themselves. The
  traceback has to go through the broken place.
* A message equal to the title of a bug names that bug.
* Classes and functions that another project puts in the place of the library's (``PatchedQwen2Attention``,
  ``_unsloth_…``) have bugs of their own. They match only a known message that names them.

A match in which all of this agrees is certain. Every other match is at most the nearest, and is not called a match.

The time grows with the length of the text and no faster, up to limits that `docs/command.md` gives: the last `_LINES`
lines, `_LINE` characters of each, `_WORD_CUT` characters of a word, and the last `_ERRORS` different errors.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Optional

from ..._support.memo import memo

if TYPE_CHECKING:
    from ..bugs import Bug

_CERTAIN = 0.8  # of the weight of the known message
_FRAGMENT = 0.9  # of the weight of the given text, if that is a part of a message
_NEAR = 0.5
_FEWEST = 4  # words in common that a message without a form needs for a match
_CUT = 9  # characters; a name that is cut off after them still counts
_LINES = 400
_LINE = 1000  # characters of a line that are read
_WORD_CUT = 200  # characters of a word that are read: patterns take quadratic time in a word
_WHOLE = 5000  # characters that are read of a text without the name of an error
_ERRORS = 25  # different errors of a text, counted from its end
_WRAPPED = 8  # lines over which a terminal may have spread a message
_SCREEN = 60  # characters; a shorter line was not wrapped

_ANY = "ꙮ"  # in the place of any text of a known message: a letter, so that it may be a part of a name

_LONG_WORD = re.compile(rf"([\w.-]{{{_WORD_CUT}}})[\w.-]+")
_WORD = re.compile(r"[a-z_][a-z0-9_]+", re.I)
_NAME = re.compile(r"[a-z]+[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w*|\w*[a-z0-9]_\w+|\w+\d\w*")
_LAUNCHER = re.compile(
    r"""\A\s*(?:
        \[[^\]\s]{1,40}\](?:<std(?:err|out)>:\s?|:?\s) # [rank0]: of torchrun, [1,0]<stderr>: of mpirun, without a blank
      | \([^)]{0,100}\bpid=\d+[^)]{0,100}\)\s          # (WorkerDict pid=136418, ip=10.1.155.100) of Ray
      | (?![\w.-]*\.(?:so|py):)[\w.-]*\d[\w.-]*:\s+(?=\S|$)  # node3: of pdsh, 0: of srun; not the end of a path
      | [>|│]\s?                                       # quoted, boxed
    )+""",
    re.X,
)
_QUOTES = "because of the following error"
_ERROR = re.compile(r"\b((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Iteration|IsEnabled))(?:: |:?$)")
_FRAME = re.compile(
    r"""File "([^"]+)",\s*line\s*\d+,\s*in\s*(\w+|<\w+>)|^(?:File )?([\w./~-]+\.py):\d+,? in ([\w.]+)""", re.M
)

_BEGIN = r"(?<![\w.])"
_Q = "[\"'`\u2018\u2019\u201c\u201d]?"
_FORMS = {
    form: re.compile(text.replace("~", _Q).replace("@", _BEGIN))
    for form, text in {
        "import": r"cannot import name ~(?P<key>\w+)~(?: from (?:partially initialized module )?~(?P<owner>[\w.]+))?",
        "module": r"No module named ~(?P<key>[\w.]+)",
        "attribute": (
            r"(?:type object |module )?~@(?P<owner>[\w.]+)~"
            r"(?:(?: object)? has no attribute |\u5bf9\u8c61\u6ca1\u6709\u5c5e\u6027)~(?P<key>\w+)"  # in Chinese
        ),
        "keyword": r"@(?P<owner>[\w.]*)(?:\(\))? got an unexpected keyword argument ~(?P<key>\w+)",
        "arity": r"@(?P<owner>(?:\w*\.)*)(?P<key>\w+)\(\) takes (?:from )?\d+ (?:to \d+ )?positional arguments? but \d",
        "argument": r"@(?P<owner>[\w.]+)\(\) missing \d+ required [a-z-]+ arguments?: ~(?P<key>\w+)",
        "defined": r"name ~(?P<key>\w+)~ is not defined",
        "key": r"^(?:KeyError: ~|(?=['\"]))['\"]?(?P<key>[\w.-]+)~$",
        "task": r"(?:Unknown|The|Invalid translation) task ~(?P<key>[\w-]+)~(?:,| has been removed)",
        "type": r"has model type ~(?P<key>[\w.-]+)",
        "tokenizer": r"Tokenizer class ~(?P<key>\w+)~ does not exist",
    }.items()
}
"""Messages that quote the missing thing: ``key`` has to agree, and ``owner`` is the class, function or module it is of.

Patterns that start with a word are anchored at word starts, so they are not retried at each letter.
"""
_REPLACED = re.compile(r"\b(?:Patched|Unsloth|Liger)(?=[A-Z])|\b_?unsloth_")
"""Prefixes of classes and functions that other projects put in the place of those of the library."""
_PART = re.compile(r"(?:Attention(?:2|V2)?|Layer|Block|MLP|Embeddings?|Norm)$")
"""Ends of the names of classes that are a part of a model: a repair of models does not reach them."""
_LANGUAGES = re.compile(r"[^_]+_\w+_to_\w+")

_ANYBODYS = re.compile(
    "|".join(
        (
            r"index -?\w+ is out of bounds|list index out of range",
            r"'NoneType' object|\bNoneType\b",
            r"(?<!'DynamicCache' )object is not subscriptable|object is not callable",
            r"(?:too many|not enough) values to unpack|instantiate the backend tokenizer|are not used by the model",
            r"is invalid for input of size|[Tt]he size of tensor a",
            r"on the same device|tensors on different devices",
            r"to\(\) received an invalid combination of arguments",
            r"pop from an empty",
            r"'(?:list|int|str|tuple|dict|function|Tensor)' object (?!has no attribute '[a-z]+_)",
            r"object has no attribute 'self_attn'",
            r"unhashable type|unsupported operand",
            r"stack expects each tensor|size mismatch|Expected reduction dim|nonzero on 0d",
            r"[Nn]on-default argument|Permission ?(?:Error|denied)|\bKeyError: '\w+'$|StopIteration|RecursionError",
            r"image tokens do not match|Unrecognized configuration class|chat_template is not set",
            r"Attention mask should be of size|entries must be in|only support fp16 and bf16",
            r"does not support Flash Attention 2|have a file named preprocessor_config|preprocessor_config\.json",
            r"Could not infer dtype of|chunk expects at least|`?\.to`? is not supported for|must be tuple of ints",
            r"offline mode is enabled|Max retries exceeded|Can't find a valid checkpoint|Weights only load failed",
            r"bos_token_id`? has to be defined|quantized models requires? a GPU|number of images in each batch",
            r"gradient partitioning logic|MPS Tensor to float64|must be bool, not Tensor",
            r"untagged enum (?!ModelWrapper|ꙮ)|packages that were not found in your environment",
            r"Cache only has \w+ layers",
        )
    )
)
"""Messages of Python, torch and flash-attn about anybody's code: they name a bug only with the broken place."""

_BUILTIN = frozenset(
    "NoneType bool bytes dict float function generator int list ndarray set str tuple Tensor torch torch.nn".split()
)


@dataclass(frozen=True)
class Message:
    """An error message, taken apart.

    Attributes:
        text: the message, with the type of the error.
        error: the type, or an empty string.
        form: which of the forms it has, or an empty string.
        key: the missing thing that it quotes.
        owner: the class, function or module that lacks it, as far as the message names it.
        words: all words, in lower case.
        anybodys: whether anybody's code may raise it.
        aside: whether it is not the first message that the bug declares.
    """

    text: str
    error: str = ""
    form: str = ""
    key: str = ""
    owner: str = ""
    words: tuple[str, ...] = ()
    anybodys: bool = False
    aside: bool = False


@dataclass(frozen=True)
class Match:
    """A bug, and how well the message fits.

    Attributes:
        bug: the bug.
        score: from 0 to 1.
        weight: of the words in common.
        certain: whether everything agrees that has to.
    """

    bug: Bug
    score: float
    weight: float
    certain: bool


def search(text: str) -> list[Match]:
    """The bugs that a message or a traceback may come from, the certain ones first, then the best.

    Args:
        text: the message, or the output of a program that ends with it.
    """
    known, rarity = _known()
    asked = [_weighed(message, rarity) for message in messages_in(text)]
    traceback, titled = _Traceback(text), _titled(text)
    best: dict[Bug, Match] = {}
    for mine in asked:
        for bug, other in _of_the_kind(mine.message.error, mine.message.form):
            match = _compare(bug, mine, other, traceback, rarity)
            if match and (bug not in best or _order(match) > _order(best[bug])):
                best[bug] = match
    matches = [
        best[bug]
        for bug in known
        if bug in best and bug not in titled and (best[bug].certain or best[bug].score >= _NEAR)
    ]
    matches += [Match(bug, 1.0, math.inf, True) for bug in titled]
    return sorted(matches, key=_order, reverse=True)


def is_of_a_neighbour(bug: Bug, text: str) -> bool:
    """Whether a traceback goes through the file of another package in which a bug shows."""
    from .. import bugs

    modules = {target.partition(":")[0] for target in bug.where}
    files = [f"{name.replace('.', '/')}.py" for name in modules if name.partition(".")[0] != bugs.PACKAGE]
    frames = _unwrapped(text).replace("\\", "/")
    return any(re.search(rf"(?<![\w.]){re.escape(file)}\b", frames) for file in files)


def messages_in(text: str) -> Iterator[Message]:
    """The error messages in a text, the last one first, in every way in which a screen may have wrapped them.

    An error that is repeated, for instance by each rank of a job, counts once.
    """
    lines = _lines(text)
    starts = {number: error.start() for number, (line, _) in enumerate(lines) if (error := _ERROR.search(line))}
    if not starts:
        whole = " ".join(line.strip() for line, _ in lines if line.strip())
        if whole:
            yield _message(whole[-_WHOLE:])
        return
    seen: set[tuple[str, ...]] = set()
    for start in reversed(starts):
        line, width = lines[start]
        first = line[starts[start] :]
        more: list[str] = []
        for line, _ in lines[start + 1 : start + 1 + _WRAPPED]:
            if not line.strip() or line.lstrip().startswith(("File ", "Traceback", "During handling", "The above")):
                break
            more.append(line)
        if (first, *more) in seen:
            continue
        if len(seen) == _ERRORS:
            return
        seen.add((first, *more))
        yield _message(first)
        # A line that is folded at a space is shorter than the screen by up to the length of the next word.
        if more and width + 1 + len(more[0].split()[0]) > _SCREEN:
            for end in range(1, len(more) + 1):
                yield _message("".join([first, *more[:end]])[:_LINE])  # cut at the edge of the screen
                yield _message(" ".join([first, *(line.strip() for line in more[:end])])[:_LINE])  # folded at a space


# ---------------------------------------------------------------------------------------------------------------------
# Below: taking messages apart.


def _lines(text: str) -> list[tuple[str, int]]:
    """The last lines without the prefixes of launchers, each with its width on the screen."""
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text).replace("\r", "\n")
    return [(_LAUNCHER.sub("", _shortened(line), count=1).rstrip(), len(line)) for line in plain.splitlines()[-_LINES:]]


def _shortened(line: str) -> str:
    """The part of a line that is read."""
    return _LONG_WORD.sub(r"\1", line[:_LINE])


def _unwrapped(text: str) -> str:
    """The text as it is, and once more without its line ends: a screen may have cut it anywhere."""
    lines = [line for line, _ in _lines(text)]
    return "\n".join([*lines, "".join(lines)])


def _message(text: str) -> Message:
    text = _LONG_WORD.sub(r"\1", text)  # lines that were joined may have made one
    named = _ERROR.match(text)
    # A lazy module raises an error of its own and quotes the first one, without its type.
    error = named[1].rpartition(".")[2] if named and _QUOTES not in text else ""
    words = tuple(word.lower() for word in _WORD.findall(text))
    anybodys = bool(_ANYBODYS.search(text))
    for form, pattern in _FORMS.items():
        quoted = pattern.search(text)
        if quoted:
            owner = (quoted.groupdict().get("owner") or "").strip(".")
            owner = re.sub(r"(?<=\.)init$", "__init__", owner)  # where a page took the underscores for bold type
            if form == "attribute" and owner.split(".")[0] == "transformers":
                form = "import"  # of a lazy module, which raises an AttributeError
            key = quoted["key"]
            if form == "task" and _LANGUAGES.fullmatch(key):  # translation_en_to_de
                key = key.partition("_")[0]
            return Message(text, error, form, key, owner, words, anybodys)
    return Message(text, error, words=words, anybodys=anybodys)


@dataclass(frozen=True)
class _Weighed:
    """A message, prepared for comparison.

    Attributes:
        message: the message.
        words: its words, each once.
        weight: of all of its words.
    """

    message: Message
    words: frozenset[str]
    weight: float


def _weighed(message: Message, rarity: Rarity) -> _Weighed:
    return _Weighed(message, frozenset(message.words), rarity.of(message.words))


@memo
def _known() -> tuple[dict[Bug, tuple[_Weighed, ...]], Rarity]:
    from .. import bugs

    known = {bug: tuple(known_messages(bug)) for bug in bugs.known().values() if bug.error}
    rarity = Rarity(known)
    return {bug: tuple(_weighed(message, rarity) for message in messages) for bug, messages in known.items()}, rarity


@memo
def _of_the_kind(error: str, form: str) -> tuple[tuple[Bug, _Weighed], ...]:
    """The known messages that a message with this type of error and of this form can be."""
    return tuple(
        (bug, weighed)
        for bug, messages in _known()[0].items()
        for weighed in messages
        if weighed.message.form == form and _are_one_error(error, weighed.message.error, form)
    )


def _titled(text: str) -> tuple[Bug, ...]:
    """The bugs whose title is the whole text, or a line of it."""
    lines = [line for line, _ in _lines(text)]
    titles = {_bare(title) for title in (*lines, " ".join(lines), "".join(lines))}
    return tuple(bug for title, bugs in _titles().items() if title in titles for bug in bugs)


@memo
def _titles() -> dict[str, tuple[Bug, ...]]:
    from .. import bugs

    titles: dict[str, tuple[Bug, ...]] = {}
    for bug in bugs.known().values():
        titles[_bare(bug.title)] = (*titles.get(_bare(bug.title), ()), bug)
    return titles


def _bare(title: str) -> str:
    """A title without its letter case, quotes and final dot."""
    return " ".join(re.sub("[\"'`\u2018\u2019\u201c\u201d]", "", title.lower()).split()).rstrip(".")


def known_messages(bug: Bug) -> Iterator[Message]:
    """The messages that a bug declares, and those for names that its fix adds."""
    for number, text in enumerate((*bug.errors, *bug.names)):
        yield replace(_message(text.replace("…", _ANY)), aside=number > 0)


class _Traceback:
    """The frames in a text.

    Attributes:
        text: the text with and without its line ends.
        places: the files (without folders and ending) and functions of the frames.
    """

    def __init__(self, text: str) -> None:
        self.text = _unwrapped(text)
        self.places: set[tuple[str, str]] = set()
        for match in _FRAME.finditer(self.text):
            file, function = match[1] or match[3], match[2] or match[4]
            file = file.replace("\n", "")  # cut at the edge of the screen
            self.places.add((re.split(r"[/\\]", file)[-1].removesuffix(".py"), function.rpartition(".")[2]))
        self._files = {file for file, _ in self.places}
        self._functions = {function for _, function in self.places}
        self._answers: dict[Bug, bool] = {}

    def is_at(self, bug: Bug) -> bool:
        """Whether it goes through, or names, the broken function."""
        if bug not in self._answers:
            self._answers[bug] = any(map(self._goes_through, bug.where))
        return self._answers[bug]

    def _goes_through(self, target: str) -> bool:
        module, _, qualname = target.partition(":")
        file, function = module.rpartition(".")[2], re.split(r"\W", qualname.rpartition(".")[2])[0]
        if not function:
            return file in self._files
        if (file, function) in self.places:
            return True
        if len(function) > 9 and not function.startswith("__") and re.search(rf"\b{re.escape(function)}\b", self.text):
            return True
        return not function.startswith("__") and function != "forward" and function in self._functions


# ---------------------------------------------------------------------------------------------------------------------
# Below: comparing them.


_ORDINARY = frozenset(
    """
    no such file or directory errno object has have attribute got an unexpected keyword argument missing
    required positional must be not to the of is are in for with but and you your it this that does do on at by
    as error name cannot import from expected should was were while first only
    """.split()
)
"""Words of any message."""


class Rarity:
    """The weight of a word: rare words count more, ordinary words next to nothing."""

    def __init__(self, known: Mapping[Bug, Sequence[Message]]) -> None:
        self._count = Counter(
            word for messages in known.values() for word in {word for message in messages for word in message.words}
        )
        self._messages = len(known)
        self._weights: dict[str, float] = {}

    def of(self, words: Sequence[str]) -> float:
        """The weight of words together."""
        return sum(map(self._of_word, words))

    def _of_word(self, word: str) -> float:
        if word not in self._count and word not in _ORDINARY:
            word = ""  # words that no known message has weigh alike
        if word not in self._weights:
            rare = math.log((self._messages + 1) / (self._count.get(word, 0) or 1))
            self._weights[word] = rare * (0.2 if word in _ORDINARY else 1.0)
        return self._weights[word]


def _order(match: Match) -> tuple[bool, float]:
    return match.certain, match.score * match.weight


def _compare(
    bug: Bug, weighed: _Weighed, weighed_known: _Weighed, traceback: _Traceback, rarity: Rarity
) -> Optional[Match]:
    asked, known = weighed.message, weighed_known.message
    is_of_anybody = known.anybodys or asked.anybodys or _is_a_forward_of_another(asked, known)
    if is_of_anybody and traceback.places and not traceback.is_at(bug):
        return None
    may_be_certain = not is_of_anybody or traceback.is_at(bug)
    if asked.form:
        return _compare_forms(bug, asked, known, may_be_certain, rarity)
    if not _may_be_near(weighed, weighed_known, rarity):
        return None
    return _compare_words(bug, weighed, weighed_known, may_be_certain, rarity)


def _compare_forms(bug: Bug, asked: Message, known: Message, may_be_certain: bool, rarity: Rarity) -> Optional[Match]:
    """Compare two messages of Python itself, such as those about a missing attribute."""
    if not _keys_agree(asked, known):
        return None
    if _is_replaced(asked) and not _is_replaced(known):
        return None
    if asked.owner != known.owner and {asked.owner, known.owner} & _BUILTIN:
        return None
    certain = _owner_agrees(bug, asked, known) and may_be_certain
    weight = rarity.of([known.key.lower(), *known.words[:1]]) * (0.9 if known.aside else 1.0)
    return Match(bug, 1.0 if certain else 0.6, weight, certain)


def _compare_words(
    bug: Bug, weighed: _Weighed, weighed_known: _Weighed, may_be_certain: bool, rarity: Rarity
) -> Optional[Match]:
    """Compare two messages by the words that they have in common, in the same order."""
    asked, known = weighed.message, weighed_known.message
    blocks = SequenceMatcher(None, asked.words, known.words, autojunk=False).get_matching_blocks()
    names = _names_of(known)
    # A single common word proves nothing, unless it is a name or the only word that was still missing.
    completes = sum(block.size for block in blocks) == len(known.words) and [b.size for b in blocks].count(1) == 1
    blocks = [
        block
        for block in blocks
        if block.size > 1 or (block.size and (completes or len(known.words) < _FEWEST or known.words[block.b] in names))
    ]
    common = [word for block in blocks for word in asked.words[block.a : block.a + block.size]]
    if not common or len(common) < min(_FEWEST, len(known.words)) or not _names_agree(asked, known, blocks):
        return None
    weight, theirs, ours = rarity.of(common), weighed_known.weight, weighed.weight
    of_known, of_asked = weight / theirs if theirs else 0.0, weight / ours if ours else 0.0
    whole = of_known >= _CERTAIN
    fragment = of_asked >= _FRAGMENT and len(common) >= _FEWEST and weight >= _FEWEST * 2
    certain = (whole or fragment) and may_be_certain
    return Match(bug, max(of_known, of_asked if fragment else 0.0), weight, certain)


def _may_be_near(asked: _Weighed, known: _Weighed, rarity: Rarity) -> bool:
    """Whether the common words weigh enough in any order: a cheap test before the real comparison."""
    common = known.words & asked.words
    of_known = rarity.of([word for word in known.message.words if word in common])
    if of_known >= _NEAR * known.weight:
        return True
    of_asked = rarity.of([word for word in asked.message.words if word in common])
    return of_asked >= _FRAGMENT * asked.weight


_RELATIVES = ({"ImportError", "ModuleNotFoundError"}, {"OSError", "FileNotFoundError"})


def _are_one_error(asked: str, known: str, form: str) -> bool:
    """Whether two messages of one form can be of one error; an empty type is unknown."""
    if not asked or not known or asked == known:
        return True
    both = {asked, known}
    # An import statement raises an ImportError for a missing name, a lazy module an AttributeError.
    of_a_module = form == "import" and both <= {"ImportError", "AttributeError"}
    return of_a_module or any(both <= relatives for relatives in _RELATIVES)


def _is_replaced(message: Message) -> bool:
    """Whether it is about a class or function that another project puts in the place of the library's."""
    return bool(_REPLACED.search(f"{message.owner}.{message.key}" if message.form == "arity" else message.owner))


def _keys_agree(asked: Message, known: Message) -> bool:
    """Whether the same is missing. A title may be cut off in the middle of it."""
    cut = len(asked.key) > _CUT and asked.text.endswith(asked.key)
    if _ANY in known.key:
        return known.key != _ANY and _fits(known.key, asked.key)
    return known.key.startswith(asked.key) if cut else asked.key == known.key


def _owner_agrees(bug: Bug, asked: Message, known: Message) -> bool:
    """Whether the class, function or module is the known one, or one for which that is an example."""
    ours, theirs = asked.owner, known.owner
    if not ours or not theirs or ours == theirs:
        return True
    if asked.form == "import":
        # Several places may have had the name: those of the fix, and the package itself.
        modules = {target.partition(":")[0] for target in bug.where}
        return ours in modules or ours == "transformers"
    last, known_last = ours.rpartition(".")[2], theirs.rpartition(".")[2]
    if asked.form in ("keyword", "argument"):
        if theirs.strip(f"{_ANY}.") == "forward" and _PART.search(ours.rpartition(".")[0]):
            return False
        if _ANY in theirs:
            return _fits(theirs, ours) or ("." not in ours and "." in theirs and _fits(known_last, ours))
        if last != known_last:
            return False
        # The class of forward, or of a custom Trainer, is an example; that of a constructor is not.
        classes = ours.rpartition(".")[0], theirs.rpartition(".")[0]
        if last != "__init__" or not all(classes):
            return True
        broken = _classes(bug)
        return classes[0] in broken if classes[1] in broken else _of_a_kind(*classes)
    if asked.form == "arity":
        return _fits(theirs, ours)
    return _fits(theirs, ours) or (_ANY not in theirs and _of_a_kind(ours, theirs))


def _is_a_forward_of_another(asked: Message, known: Message) -> bool:
    """Whether only one of two messages about the arguments of `forward` names a class: every model has that method."""
    if asked.form not in ("keyword", "argument"):
        return False
    owners = asked.owner.split("."), known.owner.split(".")
    return all(owner[-1] == "forward" for owner in owners) and len({len(owner) > 1 for owner in owners}) > 1


def _fits(known: str, asked: str) -> bool:
    """Whether a name is the known one, which may have any text in it."""
    return known == asked or re.fullmatch(".*".join(map(re.escape, known.split(_ANY))), asked) is not None


def _classes(bug: Bug) -> set[str]:
    """The classes whose methods are broken."""
    return {target.partition(":")[2].rpartition(".")[0] for target in bug.where}


def _of_a_kind(name: str, other: str) -> bool:
    """Whether two classes have the same last word: TrainingArguments, Seq2SeqTrainingArguments."""
    shorter, longer = sorted((name, other), key=len)
    return longer.endswith(shorter)


def _names_agree(asked: Message, known: Message, blocks: Sequence[object]) -> bool:
    """Whether the names within what both have in common are the same."""
    spans = [block for block in blocks if block.size]  # type: ignore[attr-defined]
    first, last = spans[0], spans[-1]
    between = known.words[first.b : last.b + last.size]  # type: ignore[attr-defined]
    return _names_of(known) & set(between) <= set(asked.words)


def _names_of(message: Message) -> set[str]:
    """The words that are names in a program."""
    return {name.lower() for name in _NAME.findall(message.text)}
