"""Programs that work without hotfix: chat messages in many containers, tokenizers and processors of the user's own."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import importlib
import uuid
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Callable

CHATML = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}"
BY_ATTRIBUTE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
SLICED = "{{ messages | length }}{% for m in messages[1:] %}{{ m.content | trim }}{{ loop.index }}{% endfor %}"
PRINTED = "{% for m in messages %}{{ m.content }};{% if m.content %}yes{% endif %}{% endfor %}"
PARTS = (
    "{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}<image>"
    "{% elif 'text' in part %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"
)


class Role(str, enum.Enum):
    """A role, as many programs declare it."""

    USER = "user"
    ASSISTANT = "assistant"


class Shouted(str):
    """A text that prints in capitals."""

    def __str__(self) -> str:
        return self.upper()


class Message:
    """A message of the program's own class."""

    kind = "message"

    def __init__(self, role: str, content: Any) -> None:
        self.role = role
        self.content = content


class Reply(Message):
    """A message with a property."""

    def __init__(self, text: str) -> None:
        self.role, self.text = "assistant", text

    @property
    def content(self) -> str:  # type: ignore[override]
        return f"[{self.text}]"


class Keyed(dict):  # type: ignore[type-arg]
    """A message with a property, and a text for missing attributes."""

    @property
    def text(self) -> str:
        return str(self["content"]).upper()

    def __missing__(self, key: str) -> str:
        return f"no {key}"


class Marked(str):
    """A text with a language."""

    language = "de"


class Listed(list):  # type: ignore[type-arg]
    """Parts with a name."""

    name = "parts"


class Day(datetime.datetime):
    """A date of the program's own class, as of pandas."""


@dataclasses.dataclass(order=True)
class Rank:
    """Comparable values."""

    number: int

    def __call__(self, text: str) -> str:
        return text * self.number


@functools.lru_cache
def remembered(message: Any) -> str:
    """A function held by another kind of object; it checks the class of its argument."""
    return type(message).__name__


@dataclasses.dataclass
class Turn:
    """A message as a dataclass."""

    role: str
    content: Any


Pair = namedtuple("Pair", ["role", "content"])


def conversations() -> dict[str, tuple[Any, str]]:
    """Messages and a template, by name."""
    import numpy
    import torch

    plain = [{"role": "user", "content": " What is 2+2? "}, {"role": "assistant", "content": "4"}]
    objects = numpy.empty(2, dtype=object)
    objects[:] = plain
    picture = numpy.zeros((2, 3))
    parts = [{"type": "image", "image": picture}, {"type": "text", "text": "What?"}]
    values = [
        *(datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4), datetime.timedelta(seconds=90)),
        *(Decimal("1.50"), uuid.UUID(int=5), PurePosixPath("/a/b"), {"x"}, frozenset({1}), range(3), b"bytes", 1 + 2j),
        *(numpy.float32(0.1), numpy.float64(0.1), numpy.int64(3), numpy.bool_(True), numpy.str_("text")),
        *(numpy.datetime64("2026-01-02"), torch.tensor(2), torch.zeros(2), deque("ab"), Shouted("quiet"), Role.USER),
        *(MappingProxyType({"a": 1}), OrderedDict(a=1), defaultdict(list), UserDict(a=1), Turn("a", "b"), Ellipsis),
        *(Pair("a", "b"), (1, "a", None), [1.5, True], None, {"nested": [{"deep": (1, 2)}]}, int, len),
    ]
    printed = [{"role": "user", "content": value} for value in values if not isinstance(value, torch.Tensor)]
    return {
        "plain": (plain, CHATML),
        "array": (objects, CHATML),
        "array, sliced": (objects, SLICED),
        "tuple": (tuple(plain), SLICED),
        "objects": ([Message("user", "What is 2+2?"), Reply("4")], CHATML),
        "objects by attribute": (
            [Message("user", "What is 2+2?"), Reply("4")],
            BY_ATTRIBUTE + "{{ messages[0].kind }}",
        ),
        "dataclasses": ([Turn("user", "a"), Turn("assistant", ["b"])], BY_ATTRIBUTE),
        "named tuples": ([Pair("user", "a"), Pair("assistant", "b")], BY_ATTRIBUTE),
        "roles": ([{"role": Role.USER, "content": "a"}], CHATML + "{{ messages[0].role == 'user' }}"),
        "concatenated": ([{"role": Role.USER, "content": Shouted("a")}], "{{ '<|' + messages[0].role + '|>' }}"),
        "parts": ([{"role": "user", "content": parts}], PARTS),
        "parts in an array": ([{"role": "user", "content": numpy.array(parts, dtype=object)}], PARTS),
        "values": (printed, PRINTED),
        "values one by one": (printed, "{% for m in messages %}{{ [m.content] }}{% endfor %}"),
        "defaults": ([defaultdict(str, role="user")], "{{ messages[0]['missing'] }}{{ messages[0].role }}"),
        "the same object": ([plain[0], plain[0]], "{{ messages[0] is sameas messages[1] }}"),
        "json": ([{"role": "user", "content": OrderedDict(b=1, a=[None, True])}], "{{ messages[0].content | tojson }}"),
    }


def chat(testbed: Any, target: Any) -> dict[str, Any]:
    """The text of each conversation, as bytes; or the name of the error."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")
    made = {}
    for name, (messages, template) in conversations().items():
        try:
            text = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        made[name] = torch.tensor([*str(text).encode()])
    called = "{{ shout(messages[0].content) }}"
    options: dict[str, Any] = {"chat_template": called, "tokenize": False, "shout": lambda text: text.upper()}
    text = tokenizer.apply_chat_template([{"role": "user", "content": "a"}], **options)
    made["a function of the program's"] = torch.tensor([*text.encode()])
    keyed = [Keyed(role="user", content=Marked("a")), Keyed(role="user", content=Listed(["b"]))]
    for name, template in {
        "a property": "{{ messages[0].text }}",
        "what is missing": "{{ messages[0]['name'] }}{{ messages[0].name }}{{ messages[0].get('name') }}",
        "data of a text": "{{ messages[0].content.language }}{{ messages[0].content }}",
        "data of a list": "{{ messages[1].content.name }}{{ messages[1].content }}{{ messages[1].content[0] }}",
        "a class": "{% for message, one in zip(messages, ranks) %}{{ one.number }}{{ message.role }}{% endfor %}",
        "a function that is kept": "{{ remembered(turn) }}",
        "an object that is called": "{{ ranks[1].number }}{{ double('a') }}{{ double.number }}",
        "compared": "{{ ranks[0] <= ranks[1] }}{{ ranks[0] >= ranks[1] }}{{ ranks[0] < ranks[1] }}",
        "computed": "{{ (numbers * 2)[1] + numbers[1] }}",
        "a date": "{{ day.strftime('%d %b %Y') }}{{ day.year }}{{ day }}",
    }.items():
        named = {"zip": zip, "ranks": [Rank(1), Rank(2)], "double": Rank(2), "day": Day(2026, 1, 2)}
        named.update(remembered=remembered, numbers=torch.arange(3).numpy(), turn=Pair("user", "a"))
        text = tokenizer.apply_chat_template(keyed, chat_template=template, tokenize=False, **named)
        made[name] = torch.tensor([*text.encode()])
    return made


def one_size_for_two_processors(testbed: Any, target: Any) -> dict[str, Any]:
    """The caller's dictionary of a size serves two processors, the first of which has a limit of its own."""
    import torch
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor

    size = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
    Qwen2VLImageProcessor(size=size, max_pixels=50176)
    second = Qwen2VLImageProcessor(size=size)
    unset = Qwen2VLImageProcessor(size={"shortest_edge": None, "longest_edge": None})
    return {
        "caller's": torch.tensor(list(size.values())),
        "second": torch.tensor([second.size["shortest_edge"], second.size["longest_edge"]]),
        "unset": torch.tensor([unset.size["shortest_edge"], unset.size["longest_edge"]]),
    }


def size_assigned_later(testbed: Any, target: Any) -> dict[str, Any]:
    """A size is assigned to a processor that was created, or loaded, with other limits."""
    import tempfile

    import numpy
    import torch
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor

    picture = numpy.arange(420 * 560 * 3, dtype="uint8").reshape(420, 560, 3)
    made = {}
    for name, limits in {"default": {}, "one limit": {"max_pixels": 100000}}.items():
        for loaded in (False, True):
            processor = Qwen2VLImageProcessor(**limits)
            if loaded:
                with tempfile.TemporaryDirectory() as folder:
                    processor.save_pretrained(folder)
                    processor = Qwen2VLImageProcessor.from_pretrained(folder)
            processor.size = {"shortest_edge": 28 * 28, "longest_edge": 64 * 28 * 28}
            made[f"{name}, {loaded}"] = torch.as_tensor(processor(picture, return_tensors="pt")["image_grid_thw"])
    return made


def deberta_with_its_own_tokens(testbed: Any, target: Any) -> dict[str, Any]:
    """A DeBERTa-v2 tokenizer whose file defines the tokens around a text."""
    import tempfile

    import torch
    from tokenizers.processors import TemplateProcessing
    from transformers import DebertaV2Tokenizer

    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "▁", *"abcdef"]
    plain = DebertaV2Tokenizer(vocab=[(word, -1.0) for word in words])
    plain._tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP] [MASK]",
        special_tokens=[(word, plain.convert_tokens_to_ids(word)) for word in ("[CLS]", "[SEP]", "[MASK]")],
    )
    with tempfile.TemporaryDirectory() as folder:
        plain.save_pretrained(folder)
        again = DebertaV2Tokenizer.from_pretrained(folder)
    pair = again("a b", "c")
    return {
        "one": torch.tensor(again("a b c")["input_ids"]),
        "pair": torch.tensor([pair["input_ids"], pair["token_type_ids"]]),
    }


def own_byte_level_class(testbed: Any, target: Any) -> dict[str, Any]:
    """A tokenizer of a custom class, which builds the pre-tokenizer itself."""
    import tempfile

    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Tokenizer, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    letters = {word: number for number, word in enumerate(["<unk>", *alphabet, "12", "a1"])}

    class Own(GPT2Tokenizer):
        def __init__(self, vocab: Any = None, merges: Any = None, **kwargs: Any) -> None:
            super().__init__(vocab=vocab, merges=merges, **kwargs)
            self._tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

    words = Tokenizer(models.BPE(letters, [("1", "2"), ("a", "1")], unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])
    words.decoder = decoders.ByteLevel()
    with tempfile.TemporaryDirectory() as folder:
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder)
        return {"ids": torch.tensor(Own.from_pretrained(folder)("a12 b")["input_ids"])}


def own_image_processor(testbed: Any, target: Any) -> dict[str, Any]:
    """A custom image processor, which counts its calls and takes a limit."""
    import numpy
    import torch
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.processing_qwen2_vl import Qwen2VLProcessor

    from hotfix.proofs.zoo import qwen_processor

    class Counting(Qwen2VLImageProcessor):  # type: ignore[misc]
        calls = 0

        def preprocess(self, images: Any, max_pixels: Any = None, **kwargs: Any) -> Any:
            self.calls += 1
            return super().preprocess(images, **kwargs)

    processor = qwen_processor(Qwen2VLProcessor, Counting())
    picture = numpy.zeros((56, 56, 3), dtype="uint8")
    made = processor(text=["<|image_pad|>"], images=[picture], max_pixels=28 * 28, return_tensors="pt")
    return {"calls": torch.tensor(processor.image_processor.calls), "grid": made["image_grid_thw"]}


def deberta_without_tokens(testbed: Any, target: Any) -> dict[str, Any]:
    """A tokenizer without tokens for the beginning and the end of a text adds none."""
    import torch
    from transformers import DebertaV2Tokenizer

    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "\u2581a", "b", "\u2581"]
    vocab = [(word, -float(number)) for number, word in enumerate(words)]
    tokenizer = DebertaV2Tokenizer(vocab=vocab, cls_token=None, sep_token=None)
    return {"ids": torch.tensor(tokenizer("a b").input_ids)}


def byte_level_as_the_caller_wants(testbed: Any, target: Any) -> dict[str, Any]:
    """GPT-2's class with a space before each text, or with the caller's tokenizer, and the saved files."""
    import json
    import tempfile
    from pathlib import Path

    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoTokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {word: number for number, word in enumerate([*letters, "<|endoftext|>", "\u0120a"])}
    words = Tokenizer(models.BPE(vocab, [("\u0120", "a")]))
    cut = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    words.pre_tokenizer = pre_tokenizers.Sequence(cut)
    results = {}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as saved:
        words.save(str(Path(folder, "tokenizer.json")))
        tokens = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
        settings = {"tokenizer_class": "GPT2Tokenizer", **tokens}
        Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
        Path(folder, "config.json").write_text(json.dumps({"model_type": "gpt2"}))
        for name, options in (
            ("blank", {"add_prefix_space": True}),
            ("object", {"tokenizer_object": Tokenizer(models.BPE(vocab, []))}),
        ):
            tokenizer = AutoTokenizer.from_pretrained(folder, **options)
            results[name] = torch.tensor(tokenizer("a b").input_ids)
            tokenizer.save_pretrained(saved)
            keys = sorted(json.loads(Path(saved, "tokenizer_config.json").read_text()))
            results[f"{name}, saved"] = torch.tensor([*" ".join(keys).encode()])
    return results


def byte_level_with_a_blank_in_its_settings(testbed: Any, target: Any) -> dict[str, Any]:
    """GPT-2's class whose settings add a space before each text, and whose file has a single byte-level step."""
    import json
    import tempfile
    from pathlib import Path

    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoTokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {word: number for number, word in enumerate([*letters, "<|endoftext|>", "\u0120a"])}
    words = Tokenizer(models.BPE(vocab, [("\u0120", "a")]))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    results = {}
    for blank in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            words.save(str(Path(folder, "tokenizer.json")))
            tokens = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
            settings = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": blank, **tokens}
            Path(folder, "tokenizer_config.json").write_text(json.dumps(settings))
            Path(folder, "config.json").write_text(json.dumps({"model_type": "gpt2"}))
            results[f"{blank}"] = torch.tensor(AutoTokenizer.from_pretrained(folder)("a b").input_ids)
    return results


def size_of_a_subclass(testbed: Any, target: Any) -> dict[str, Any]:
    """Subclasses whose class attribute ``size`` is a dict of another type, or None because nothing is resized."""
    import numpy

    limits = {"shortest_edge": 56 * 56, "longest_edge": 64 * 28 * 28}
    kinds: dict[str, Any] = {
        "None": None,
        "OrderedDict": OrderedDict(limits),
        "Counter": Counter(limits),
        "defaultdict": defaultdict(int, limits),
    }
    picture = (numpy.arange(56 * 84 * 3) % 251).astype("uint8").reshape(56, 84, 3)
    facts = {}
    for module in ("image_processing_qwen2_vl_fast", "image_processing_qwen2_vl", "image_processing_pil_qwen2_vl"):
        try:
            loaded = importlib.import_module(f"transformers.models.qwen2_vl.{module}")
        except ImportError:
            continue
        for base in {value for name, value in vars(loaded).items() if name.startswith("Qwen2VLImageProcessor")}:
            if not hasattr(base, "preprocess"):
                continue
            for kind, size in kinds.items():
                own = type("Own", (base,), {"size": size})
                place = f"{module} {base.__name__} {kind}"
                facts[f"{place}: type"] = attempt(lambda own=own: as_tensor(type(own().size).__name__))
                facts[place] = attempt(lambda own=own: own(do_resize=False)(images=[picture], return_tensors="pt"))
    return facts


def attempt(program: Callable[[], Any]) -> Any:
    """The result of a program, or its error."""
    try:
        result = program()
        return result if hasattr(result, "shape") else result["pixel_values"]
    except (TypeError, ValueError) as error:
        return as_tensor(f"{type(error).__name__}: {error}")


def as_tensor(text: str) -> Any:
    """A text as the numbers of its bytes."""
    import torch

    return torch.tensor([*text.encode()])


class Money(float):
    """A number with its own arithmetic and output."""

    def __mul__(self, other: Any) -> Money:
        return Money(float(self) * other)

    def __str__(self) -> str:
        return f"${float(self):.2f}"


class Letters(str):
    """A text with custom operators."""

    def __add__(self, other: str) -> Letters:
        return Letters(f"{self}-{other}")

    def __contains__(self, part: object) -> bool:
        return str(part).lower() in str(self).lower()


class Stamp(datetime.datetime):
    """A date that prints differently, as in pandas and pendulum."""

    def __str__(self) -> str:
        return self.isoformat("T")


class NoDate(datetime.datetime):
    """A date that is missing, as in a column of pandas."""

    def __new__(cls) -> NoDate:
        return super().__new__(cls, 1, 1, 1)

    year = month = day = property(lambda self: float("nan"))  # type: ignore[assignment]

    def __str__(self) -> str:
        return "NaT"


class AnyCase(dict):  # type: ignore[type-arg]
    """A message with case-insensitive keys."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__(str(key).lower())

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key.lower())

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key.lower(), default)


class Row(Mapping):  # type: ignore[type-arg]
    """A row of a table that decodes a column when it is read; one column cannot be decoded."""

    def __getitem__(self, key: str) -> Any:
        if key == "picture":
            raise OSError("no such picture")
        return {"role": "user", "content": "a"}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("role", "content", "picture"))

    def __len__(self) -> int:
        return 3


def chat_of_odd_values(testbed: Any, target: Any) -> dict[str, Any]:
    """Custom numbers, texts, dates, tuples and mappings, and functions that change their arguments."""
    import numpy
    from markupsafe import Markup

    conversation: list[Any] = [{"role": "user", "content": "a"}]
    calls: list[int] = []

    def mark(message: Any) -> str:
        message["seen"] = True
        return type(message).__name__

    def kinds(messages: Any) -> str:
        return " ".join(type(message).__name__ for message in messages)

    array = numpy.arange(3)
    named: dict[str, Any] = {
        "single": numpy.float32(0.1),
        "whole": numpy.int64(3),
        "price": Money(1.5),
        "letters": Letters("Ab"),
        "stamp": Stamp(2026, 1, 2),
        "missing": NoDate(),
        "pair": Pair("a", "b"),
        "case": AnyCase(role="user"),
        "row": Row(),
        "count": Counter("aab"),
        "markup": Markup("<p>"),
        "array": array,
        "keys": {"a": 1}.keys(),
        "turns": [Turn("user", "a"), Turn("assistant", "b")],
        "users": UserDict(role="user"),
        "calls": calls,
        "call": calls.append,
        "mark": mark,
        "kinds": kinds,
    }
    pieces = {
        "single": "{{ single * 2 }} {{ 1 - single }} {{ single == 0.1 }} {{ single is float }} {{ single | round(2) }}",
        "whole": "{{ whole is integer }} {{ whole is number }} {{ range(whole) | list }} {{ 'a' * whole }}",
        "price": "{{ price * 2 }} {{ price }} {{ '%.1f' | format(price) }}",
        "letters": "{{ letters + 'c' }} {{ 'a' in letters }} {{ 'x' ~ letters }} {{ letters is string }}",
        "stamp": "{{ stamp }} {{ stamp.year }} {{ stamp.strftime('%d') }}",
        "missing": "{{ missing }}",
        "pair": "{{ pair | tojson }} {{ '%s and %s' % pair }} {{ pair.role }} {{ pair + ('c',) }}",
        "case": "{{ case['ROLE'] }} {{ 'Role' in case }} {{ case.get('Role') }} {{ case | tojson }}",
        "row": "{{ row.role }} {{ row['content'] }} {{ row | length }} {{ row is mapping }} {{ row | list }}",
        "count": "{{ count.a }} {{ count['z'] }} {{ count.items() | list }}",
        "markup": "{{ markup + '<b>' }} {{ markup | e }} {{ '<' + markup }} {{ markup is escaped }}",
        "array": "{{ array > 0 }} {{ array == array }} {{ 1 + array }} {{ array // 2 }} {{ array % 2 }}",
        "keys": "{{ keys is sequence }} {{ keys | list }} {{ keys | length }}",
        "users": "{{ users.role }} {{ users.items() | list }} {{ users.get('name', 'none') }} {{ users }}",
        "calls": "{% if call(1) %}{% endif %}{{ calls | length }} {{ calls }}",
        "mark": "{{ mark(messages[0]) }} {{ messages[0].seen }}",
        "kinds": "{{ kinds(turns) }}",
    }
    results = {}
    for name, template in pieces.items():
        results[name] = as_tensor(render(conversation, template, **named))
    results["the caller's"] = as_tensor(str(conversation))
    return results


def render(messages: Any, template: str, **named: Any) -> str:
    """The text of a conversation."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")
    return str(tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, **named))
