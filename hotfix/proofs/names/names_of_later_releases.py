"""The proof: lines of remote code for 5.x, which import each of the names and use it."""

from typing import Any, Callable

import torch

from hotfix.names.names_of_later_releases import FIX
from hotfix.proofs.names.asking import ask, remote, words
from hotfix.proofs.testbed import Target, Testbed

SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 16}

Results = dict[str, torch.Tensor]


@FIX.case(
    raises="(Import|ModuleNotFound|Attribute)Error: ",
    packages={"flash-attn": None, "kernels": None},
)
def case(testbed: Testbed, target: Target) -> Results:
    """What the object does."""
    name = target.qualname.rpartition(".")[2]
    given = ask(target)
    return USES.get(name, _decorates)(testbed, given)


def _config(testbed: Testbed, base: Any) -> Results:
    from transformers import LlamaConfig

    kind = remote(
        """
from transformers import PreTrainedConfig
class TinyConfig(PreTrainedConfig):
    model_type = "tiny"
    def __init__(self, width=3, **kwargs):
        self.width = width
        super().__init__(**kwargs)
"""
    )["TinyConfig"]
    made = kind.from_dict(kind(width=5).to_dict())
    return {"made": torch.tensor([made.width, issubclass(kind, base), issubclass(LlamaConfig, base)])}


def _tokenizer(testbed: Testbed, given: Any) -> Results:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

    if not isinstance(given, type):
        given = getattr(given, "PythonBackend", None) or given.TokenizersBackend
    if given is PreTrainedTokenizer:
        return {"same": torch.tensor(True)}
    backend = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    made = given(tokenizer_object=backend, unk_token="[UNK]")
    return {"ids": torch.tensor(made("a b c").input_ids), "same": torch.tensor(given is PreTrainedTokenizerFast)}


def _initialization(testbed: Testbed, init: Any) -> Results:
    results = {}
    calls: dict[str, tuple[Any, ...]] = {
        "constant_": (0.5,),
        "copy_": (torch.arange(12.0).view(3, 4),),
        "kaiming_uniform_": (5**0.5,),
        "normal_": (0.0, 0.02),
        "ones_": (),
        "trunc_normal_": (0.0, 0.02),
        "uniform_": (-1.0, 1.0),
        "xavier_uniform_": (),
        "zeros_": (),
    }
    for name, arguments in calls.items():
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.full((3, 4), 7.0))
        loaded = torch.full((3, 4), 7.0)
        loaded._is_hf_initialized = True
        getattr(init, name)(weight, *arguments)
        getattr(init, name)(loaded, *arguments)
        results[name] = torch.stack([weight.detach(), loaded])
    return results


def _attention(testbed: Testbed, kind: Any) -> Results:
    functions = kind()

    def default() -> None:
        pass

    outcomes = [functions.get_interface(name, default) is default for name in ("eager", "sdpa")]
    try:
        functions.get_interface("none of them", default)
    except KeyError:
        outcomes.append(True)
    return {"outcomes": torch.tensor(outcomes)}


def _parameter(testbed: Testbed, kind: Any) -> Results:
    from transformers import BertConfig, BertModel

    model = testbed.fill(BertModel(BertConfig(**SIZES)))
    model.register_buffer("mine", torch.arange(3))
    names = ("encoder.layer.0.output.dense.weight", "mine")
    results = {name: model.get_parameter_or_buffer(name) for name in names}
    try:
        model.get_parameter_or_buffer("encoder.nothing")
    except AttributeError:
        results["refused"] = torch.tensor(True)
    return results


def _autocast(testbed: Testbed, maybe_autocast: Any) -> Results:
    x = testbed.randn(4, 4)
    results = {}
    for outer in (False, True):
        for enabled in (False, True):
            around = torch.autocast("cpu", torch.bfloat16, enabled=outer)
            with around, maybe_autocast("cpu", torch.bfloat16, enabled=enabled):
                results[f"{outer} {enabled}"] = x @ x
    with maybe_autocast("meta", enabled=True):
        return {**results, "meta": x @ x}


def _flash(testbed: Testbed, requested: Any) -> Results:
    from transformers import BertConfig

    config = BertConfig(**SIZES)
    outcomes = [requested(requested_attention_implementation=name) for name in (None, "sdpa", "flash_attention_2")]
    config._attn_implementation = "eager"
    return {"outcomes": torch.tensor([*outcomes, requested(config)])}


def _tuples(testbed: Testbed, decorator: Any) -> Results:
    from transformers import BertConfig
    from transformers.modeling_outputs import BaseModelOutput

    class Tiny(torch.nn.Module):
        config = BertConfig(**SIZES)

        def forward(self, x: Any, **kwargs: Any) -> Any:
            return BaseModelOutput(last_hidden_state=x * len(kwargs))

        forward = decorator(forward)

    x, tiny = testbed.randn(2), Tiny()
    calls: tuple[dict[str, Any], ...] = ({}, {"return_dict": False}, {"return_dict": None}, {"other": 1})
    names = [type(tiny(x, **arguments)).__name__ for arguments in calls]
    names.extend(_nested(Tiny, decorator, x))
    return {"types": words(*names), "values": tiny(x, other=1)[0]}


def _nested(inner: Any, decorator: Any, x: torch.Tensor) -> list[str]:
    """The types of outputs of a model in another one, whose configuration asks for tuples, and of the outer one."""
    from transformers import BertConfig
    from transformers.modeling_outputs import BaseModelOutput

    names = []

    class Outer(torch.nn.Module):
        def __init__(self, config: Any) -> None:
            super().__init__()
            self.config, self.inner = config, inner()
            self.inner.config = config

        def forward(self, x: Any, **kwargs: Any) -> Any:
            output = self.inner(x)
            names.append(type(output).__name__)
            return BaseModelOutput(last_hidden_state=output[0])

        forward = decorator(forward)

    for settings in ({}, {"return_dict": False}, {"torchscript": True}):
        outer = Outer(BertConfig(**SIZES, **settings))
        names.extend(type(outer(x, **given)).__name__ for given in ({}, {"return_dict": True}, {"return_dict": None}))
        names.append(type(outer.inner(x)).__name__)
    return names


def _decorates(testbed: Testbed, decorator: Any) -> Results:
    class Tiny(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    arguments: tuple[Any, ...] = ("RMSNorm",) if decorator.__name__ != "use_kernelized_func" else (torch.relu,)
    kind = decorator(*arguments)(Tiny)
    return {"output": kind()(testbed.randn(2)), "same": torch.tensor(kind is Tiny)}


def _documents(testbed: Testbed, auto_docstring: Any) -> Results:
    from transformers import BertConfig, BertModel

    @auto_docstring
    class Tiny(BertModel):
        pass

    @auto_docstring(custom_intro="A small one.")
    class Smaller(BertModel):
        pass

    ids = torch.arange(4)[None]
    kinds = (Tiny, Smaller)
    return {kind.__name__: testbed.fill(kind(BertConfig(**SIZES)).eval())(ids)[0] for kind in kinds}


def _typed(testbed: Testbed, kind: Any) -> Results:
    keys = {"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"}
    made = remote(f"from typing import *\ndef forward(x, **kwargs): return x\nkeys = {sorted(keys)!r}")
    return {"has": torch.tensor([keys <= {*kind.__annotations__}, kind.__total__, made["forward"](1, max_length_q=2)])}


def _auto(testbed: Testbed, kind: Any) -> Results:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig

    settings = {name: size for name, size in SIZES.items() if name != "vocab_size"}
    vision = CLIPVisionConfig(**settings, image_size=8, patch_size=4)
    config = LlavaConfig(text_config=LlamaConfig(**SIZES), vision_config=vision)
    return {"class": words(type(kind.from_config(config)).__name__)}


USES: dict[str, Callable[[Testbed, Any], Results]] = {
    "PreTrainedConfig": _config,
    "TokenizersBackend": _tokenizer,
    "tokenization_utils_tokenizers": _tokenizer,
    "PythonBackend": _tokenizer,
    "tokenization_python": _tokenizer,
    "initialization": _initialization,
    "get_interface": _attention,
    "get_parameter_or_buffer": _parameter,
    "maybe_autocast": _autocast,
    "is_flash_attention_requested": _flash,
    "can_return_tuple": _tuples,
    "auto_docstring": _documents,
    "FlashAttentionKwargs": _typed,
    "TransformersKwargs": _typed,
    "AutoModelForMultimodalLM": _auto,
}
