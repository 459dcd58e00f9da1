"""Templates that ask for more than text, each of which must get nothing, and ordinary ones, whose text is as it was.

The templates only use a counter in an object of the messages, and a name that begins with an underscore.
"""

from typing import Any

import torch

from hotfix.processing.chat_template_sandbox_escape import FIX
from hotfix.proofs.testbed import Target, Testbed

# Asked of the templates: whether the methods of an object that is among the messages can be called, and so on.
_ASKING = (
    "{{ messages[0]['image'].look() }}",
    "{% set n = namespace(_hidden=1) %}1",
    "{{ dict.items is defined }}",
)

# In the manner of the templates of ChatML, Llama 2 and 3, Mistral, Gemma, Phi 3, Vicuna and of models with images.
_ORDINARY = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set s = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set s = false %}{% endif %}{% for m in loop_messages %}"
    "{% if loop.index0 == 0 and s %}{{ '<<SYS>>' + s + '<</SYS>>' }}{% endif %}[INST] {{ m.content | trim }} [/INST]"
    "{% endfor %}",
    "{% set ns = namespace(found=false, first=bos_token) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.found = true %}{% endif %}{{ ns.first }}<|start_header_id|>{{ m.role }}<|end_header_id|>{{ m.content }}"
    "{% set ns.first = '' %}{% endfor %}{{ ns.found }}",
    "{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ '[SYSTEM]' }}{% endif %}{{ m['content'] + eos_token }}{% endfor %}",
    "{% for m in messages %}<start_of_turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n"
    "{{ m['content'] | trim }}<end_of_turn>\n{% endfor %}",
    "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>\n{{ m.content }}<|end|>{% endfor %}",
    "{% for m in messages %}{% if m['role'] in ['user', 'system'] %}USER: {% endif %}{{ m['content'] | upper }}"
    "{% endfor %}",
    "{% for m in messages %}{{ m | length }}{{ m.get('name', '-') }}{{ m.items() | list | length }}{% endfor %}",
    "{% set d = dict(a=1, b='x') %}{{ d.a }}{{ d['b'] }}{{ messages[0].number + 1 }}{{ messages[0].flag }}"
    "{{ messages[0].nothing is none }}",
    "{% for m in messages %}{% if m.image is defined %}<image>{% endif %}{{ m.content }}{% endfor %}",
)


@FIX.case(packages={"flash-attn": None}, oracles={"*": "5.22.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Whether each of those that ask gets something, and the text of each ordinary one, as bytes."""
    import jinja2
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    class Image:
        counted = 0

        def look(self) -> int:
            self.counted += 1
            return self.counted

    image = Image()
    spoken = [
        {"role": "system", "content": " Be brief. ", "image": image, "number": 3, "flag": True, "nothing": None},
        {"role": "user", "content": "Hello, 世界!\n", "name": "me"},
        {"role": "assistant", "content": "Hi 🙂"},
    ]
    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>")

    def render(template: str) -> Any:
        asked: dict[str, Any] = {"chat_template": template, "tokenize": False, "add_generation_prompt": True}
        return tokenizer.apply_chat_template(spoken, **asked)

    results = {}
    for number, template in enumerate(_ASKING):
        try:
            said = render(template)
        except jinja2.exceptions.TemplateError as error:
            said = type(error).__name__
        results[f"asks {number}"] = torch.tensor(said in ("1", "True"))
    results["was called"] = torch.tensor(image.counted > 0)
    for number, template in enumerate(_ORDINARY):
        results[f"says {number}"] = torch.tensor([*render(template).encode()])
    return results
