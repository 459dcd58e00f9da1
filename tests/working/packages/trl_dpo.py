"""TRL's DPOTrainer: two steps and evaluation."""

from common import arguments, begin, dataset, llama, tell_folder, tell_model, tell_training, tokenizer

begin()
import inspect

from transformers import AutoModelForCausalLM
from trl import DPOTrainer

try:
    from trl import DPOConfig
except ImportError:
    from transformers import TrainingArguments as DPOConfig

folder, words = llama("base"), tokenizer()
rows = [("a b", "c d e", "f"), ("b", "c", "x y"), ("c d", "e", "z z z"), ("k l m", "n", "o")]
data = dataset(prompt=[row[0] for row in rows], chosen=[row[1] for row in rows], rejected=[row[2] for row in rows])
known = inspect.signature(DPOTrainer).parameters
name = "processing_class" if "processing_class" in known else "tokenizer"
options = {"max_length": 16, "max_prompt_length": 8, "beta": 0.1}
given = {key: value for key, value in options.items() if key in known and "DPOConfig" not in str(DPOConfig)}
trainer = DPOTrainer(
    AutoModelForCausalLM.from_pretrained(folder),
    AutoModelForCausalLM.from_pretrained(folder),
    args=arguments(DPOConfig, "out", remove_unused_columns=False, **options),
    train_dataset=data,
    eval_dataset=data,
    **{name: words},
    **given,
)
tell_training(trainer.train().metrics)
tell_training(trainer.evaluate())
tell_model(trainer.model)
trainer.save_model("saved")
tell_folder("saved")
