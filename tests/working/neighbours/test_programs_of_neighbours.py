"""Programs that run with packages of another time: the result is the same with hotfix."""

from __future__ import annotations

import textwrap

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

ARGUMENTS = """
    import dataclasses
    import inspect
    from transformers import HfArgumentParser, TrainingArguments

    new = hasattr(TrainingArguments, "eval_strategy")
    name = "eval_strategy" if new else "evaluation_strategy"
    print(new, [one.name for one in dataclasses.fields(TrainingArguments) if "strategy" in one.name])
    print(hasattr(TrainingArguments, "_VALID_DICT_FIELDS"))
    given = dict(output_dir="unused", use_cpu=True, report_to=[], eval_steps=3)

    @dataclasses.dataclass
    class Own(TrainingArguments):
        extra: str = ""

    print(Own(**given, **{name: "steps"}).evaluation_strategy)
    known = inspect.signature(TrainingArguments.__init__).parameters
    chosen = {key: "steps" for key in ("eval_strategy", "evaluation_strategy") if key in known}
    print(chosen, TrainingArguments(**given, **chosen).evaluation_strategy)
    (arguments,) = HfArgumentParser(TrainingArguments).parse_dict({**given, name: "steps"})
    print(arguments.evaluation_strategy, hasattr(arguments, "eval_strategy"))
    try:
        TrainingArguments(**given, eval_strategy="steps")
    except TypeError as error:
        print(error)
    arguments.eval_strategy = "mine"
    print(vars(arguments)["eval_strategy"], arguments.evaluation_strategy)

    @dataclasses.dataclass
    class Later(TrainingArguments):
        eval_strategy: str = "epoch"

    print(Later(**given).eval_strategy)
"""

TRAINERS = """
    import torch
    from transformers import Trainer, TrainingArguments, default_data_collator

    class Tokenizer:
        model_input_names = ("input_ids",)

    def trainer(cls=Trainer, **given):
        arguments = TrainingArguments(output_dir="unused", use_cpu=True, report_to=[])
        return cls(model=torch.nn.Linear(2, 2), args=arguments, data_collator=default_data_collator, **given)

    for made in (trainer(), trainer(tokenizer=Tokenizer())):
        if hasattr(made, "processing_class"):
            made.processing_class.save_pretrained("unused")
        print(hasattr(made, "processing_class"), getattr(made, "processing_class", "unset"))
        print("processing_class" in vars(made))
    try:
        trainer(processing_class=Tokenizer())
    except TypeError as error:
        print(error)

    class Own(Trainer):
        processing_class = "of the class"

    print(trainer(Own).processing_class)
    made = trainer()
    made.processing_class = "of the instance"
    print(made.processing_class, hasattr(Trainer, "processing_class"))
"""

A_SHIM_FOR_ACCELERATE = """
    import torch, transformers.trainer as module
    from accelerate import Accelerator
    from transformers import Trainer, TrainingArguments, default_data_collator

    class Shim(Accelerator):
        def __init__(self, dispatch_batches=None, split_batches=False, even_batches=True, use_seedable_sampler=False,
                     deepspeed_plugin=None, gradient_accumulation_plugin=None):
            print(dispatch_batches, split_batches, even_batches)
            super().__init__(gradient_accumulation_plugin=gradient_accumulation_plugin)

    module.Accelerator = Shim
    arguments = TrainingArguments(output_dir="unused", use_cpu=True, report_to=[])
    made = Trainer(model=torch.nn.Linear(2, 2), args=arguments, data_collator=default_data_collator)
    print(type(made.accelerator).__name__)
"""

A_HOOK_THAT_TAKES_POSITIONS = """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = dict(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, num_key_value_heads=2, vocab_size=9)
    config = LlamaConfig(intermediate_size=8, **sizes)

    class Own(LlamaForCausalLM):
        def forward(self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None,
                    inputs_embeds=None, use_cache=None, return_dict=None, output_attentions=None,
                    output_hidden_states=None):
            return super().forward(input_ids, attention_mask, position_ids, past_key_values, use_cache=use_cache)

    seen = []

    def hook(module, arguments, keywords):
        seen.append(keywords.pop("cache_position").tolist())
        keywords.pop("logits_to_keep", None)
        return arguments, keywords

    torch.manual_seed(0)
    model = Own(config).eval()
    model.register_forward_pre_hook(hook, with_kwargs=True)
    print(model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=3, do_sample=False).tolist(), seen)
"""

AN_OPTIMIZER_WITH_ANOTHER_INSIDE = """
    import torch
    from transformers import Trainer, TrainingArguments

    class Around(torch.optim.SGD):
        def __init__(self, parameters):
            super().__init__(parameters, lr=0.1)
            self.optimizer = torch.optim.SGD(parameters, lr=0.1)
            self.modes = []

        def train(self):
            self.modes.append("train")

        def eval(self):
            self.modes.append("eval")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x, labels=None):
            return {"loss": self.layer(x).sum()}

    model = Model()
    optimizer = Around(list(model.parameters()))
    arguments = TrainingArguments(output_dir="unused", use_cpu=True, report_to=[], remove_unused_columns=False)
    made = Trainer(model=model, args=arguments)
    made.optimizer = optimizer  # as frameworks do that prepare it themselves
    made.training_step(model, {"x": torch.ones(1, 2)})
    print(optimizer.modes)
"""

A_STAND_IN_FOR_AN_OPTIMIZER = """
    import torch
    from accelerate.utils.deepspeed import DummyOptim
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x, labels=None):
            return {"loss": self.layer(x).sum()}

    torch.manual_seed(0)
    model = Model()
    arguments = TrainingArguments(output_dir="unused", use_cpu=True, report_to=[], remove_unused_columns=False)
    optimizer = DummyOptim(list(model.parameters()))
    made = Trainer(model=model, args=arguments, optimizers=(optimizer, None))
    made.args.prediction_loss_only = True
    print(made.evaluate([{"x": torch.ones(2), "labels": torch.ones(1)}])["eval_loss"])
"""

REMOTE_CODE_OF_A_FOLDER_WITH_A_DOT = """
    import pickle, sys, tempfile
    from pathlib import Path

    home = Path(tempfile.mkdtemp())
    import transformers.dynamic_module_utils as module
    module.HF_MODULES_CACHE = str(home / "modules")
    from transformers import AutoConfig, AutoModel

    folder = home / "Model-2.6"
    folder.mkdir()
    files = {
        "configuration_own.py": "from transformers import PretrainedConfig\\n\\n\\n"
        "class OwnConfig(PretrainedConfig):\\n    model_type = 'own-2.6'\\n",
        "modeling_own.py": "from transformers import PreTrainedModel\\n"
        "from .configuration_own import OwnConfig\\n\\n\\n"
        "class OwnModel(PreTrainedModel):\\n    config_class = OwnConfig\\n",
        "config.json": '{"model_type": "own-2.6", "auto_map": {"AutoConfig": "configuration_own.OwnConfig", '
        '"AutoModel": "modeling_own.OwnModel"}}',
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    config = AutoConfig.from_pretrained(str(folder), trust_remote_code=True)
    model = AutoModel.from_config(config, trust_remote_code=True)
    print(type(config).__module__, type(model).__module__)
    print(sorted(name for name in sys.modules if name.startswith("transformers_modules")))
    saved = pickle.dumps(config)
    print(b"transformers_modules.Model-2.6.configuration_own" in saved, type(pickle.loads(saved)) is type(config))
"""

OLD = ("accelerate==0.33.0",)
PROGRAMS = [
    ("4.38.2", ARGUMENTS, OLD),
    ("4.38.2", TRAINERS, OLD),
    ("4.45.2", TRAINERS, OLD),
    ("4.38.2", A_SHIM_FOR_ACCELERATE, ("accelerate==1.1.1",)),
    ("4.49.0", A_HOOK_THAT_TAKES_POSITIONS, ()),
    ("4.46.3", AN_OPTIMIZER_WITH_ANOTHER_INSIDE, OLD),
    ("4.45.2", A_STAND_IN_FOR_AN_OPTIMIZER, OLD),
    ("4.45.2", REMOTE_CODE_OF_A_FOLDER_WITH_A_DOT, ()),
    ("4.56.0", REMOTE_CODE_OF_A_FOLDER_WITH_A_DOT, ()),
]


@pytest.mark.parametrize(
    ("release", "text", "beside"), PROGRAMS, ids=[f"{row[0]}-{n}" for n, row in enumerate(PROGRAMS)]
)
def test_the_result_is_that_of_the_release(release, text, beside, tmp_path):
    """Numbers 35 and 36, and repairs that affected the program's own objects."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text))
    stock, armed = (
        run(program, transformers=release, flash_attn=None, hotfix=hotfix, extras=beside).require()
        for hotfix in (False, True)
    )
    assert stock.stdout.strip()
    assert armed.stdout == stock.stdout


ASKING = """
    import torch
    from transformers import Trainer, TrainingArguments, default_data_collator

    class Tokenizer:
        model_input_names = ("input_ids",)

    first, second = Tokenizer(), Tokenizer()
    arguments = TrainingArguments(output_dir="unused", use_cpu=True, report_to=[])
    given = dict(model=torch.nn.Linear(2, 2), args=arguments, data_collator=default_data_collator)
    made = Trainer(processing_class=first, **given)
    print(hasattr(made, "processing_class"), made.processing_class is first)
    made.tokenizer = second
    print(made.processing_class is second)
    print(Trainer(tokenizer=first, **given).processing_class is first)
"""


def test_the_attribute_is_the_tokenizer_that_the_trainer_has_now(tmp_path):
    """Number 36."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(ASKING))
    done = run(program, transformers="4.45.2", flash_attn=None, extras=OLD).require()
    assert done.stdout.splitlines()[-3:] == ["True True", "True", "True"]
