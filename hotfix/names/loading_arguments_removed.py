"""``from_pretrained`` has lost arguments that scripts have used for years.

Symptom   ``TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'load_in_8bit'``; the same of
          ``load_in_4bit``, ``use_auth_token``, ``resume_download`` and ``use_flash_attention_2``.
Cause     They were removed. What the function does not know goes to the constructor of the model.
Releases  ``use_flash_attention_2`` 4.53.0 and later, the others 5.0.0 and later
Upstream  removed by design (not put back)
Here      After the TypeError, the call is repeated with a `BitsAndBytesConfig`, ``token``, or
          ``attn_implementation="flash_attention_2"``. Values without effect are left out. Arguments that contradict
          each other raise as before, as does ``from_tf=True`` where it raises. The same for ``from_config``.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.pattern import occurs

from ._loading import MODEL, TENSORFLOW, UNKNOWN, in_words_of_the_release

_QUANTIZED = ("load_in_8bit", "load_in_4bit")
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "_fast_init": (True, False),
    "from_flax": (False, None),
    "from_tf": (False, None),
    "low_cpu_mem_usage": (True, False, None),
    "mirror": (None,),
    "offload_state_dict": (True, False, None),
    "resume_download": (True, False, None),
}

FIX = Fix(
    title="TypeError: LlamaForCausalLM.__init__() got an unexpected keyword argument 'load_in_8bit'",
    kind="removed-api",
    group="removed-names",
    everyone="only after the release has raised this TypeError",
    exempt=TENSORFLOW,
    errors=tuple(UNKNOWN.format(name) for name in ("use_auth_token", "use_flash_attention_2", *_QUANTIZED, *NEUTRAL)),
)


def _token(arguments: dict[str, Any]) -> bool:
    token = arguments.pop("use_auth_token")
    if token is not None and arguments.get("token") is None:
        arguments["token"] = token
    return token is None or arguments["token"] is token


def _flash_attention(arguments: dict[str, Any]) -> bool:
    if arguments.pop("use_flash_attention_2"):
        return bool(arguments.setdefault("attn_implementation", "flash_attention_2") == "flash_attention_2")
    return True


def _quantized(arguments: dict[str, Any]) -> bool:
    asked = {name: arguments.pop(name) for name in _QUANTIZED if name in arguments}
    if not any(asked.values()):
        return True
    if arguments.get("quantization_config") is not None:
        return False
    from transformers import BitsAndBytesConfig

    # It takes its own arguments out of those of the call.
    config, rest = BitsAndBytesConfig.from_dict({**dict.fromkeys(_QUANTIZED, False), **asked}, True, **arguments)
    arguments.clear()
    arguments.update(rest, quantization_config=config)
    return True


FIX.wraps((f"{MODEL}.from_pretrained", ">=4.53.0"), (f"{MODEL}._from_config", ">=4.53.0"))(
    in_words_of_the_release(
        FIX,
        NEUTRAL,
        {
            "use_auth_token": _token,
            "use_flash_attention_2": _flash_attention,
            **dict.fromkeys(_QUANTIZED, _quantized),
        },
    )
)


@FIX.recognises
def is_broken(function: ast.AST) -> bool:
    """Whether the first of them is unknown."""
    if not isinstance(function, ast.FunctionDef) or occurs('kwargs.pop("use_flash_attention_2", __DEFAULT)', function):
        return False
    constructs = ("cls(config, **__WORDS)", "cls(config, *model_args, **model_kwargs)")
    return occurs(constructs[function.name == "from_pretrained"], function)
