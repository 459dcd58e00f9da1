"""TRL's SFTTrainer: two steps, evaluation, saving and reading."""

from common import arguments, begin, dataset, llama, tell, tell_folder, tell_model, tell_training, texts, tokenizer

begin()
import inspect

from transformers import AutoModelForCausalLM
from trl import SFTTrainer

try:
    from trl import SFTConfig
except ImportError:  # older TRL has no arguments of its own
    from transformers import TrainingArguments as SFTConfig

model, words = AutoModelForCausalLM.from_pretrained(llama("base")), tokenizer()
data = dataset(text=texts())
known = inspect.signature(SFTTrainer).parameters
options = {"dataset_text_field": "text", "max_seq_length": 16}
given = {name: value for name, value in options.items() if name in known and "SFTConfig" not in str(SFTConfig)}
name = "processing_class" if "processing_class" in known else "tokenizer"
trainer = SFTTrainer(
    model=model,
    args=arguments(SFTConfig, "out", **{**options, "max_length": 16, "eos_token": "</s>"}),
    train_dataset=data,
    eval_dataset=data.select(range(3)),
    **{name: words},
    **given,
)
tell_training(trainer.train().metrics)
tell_training(trainer.evaluate())
tell_model(trainer.model)
trainer.save_model("saved")
tell_folder("saved")
again = AutoModelForCausalLM.from_pretrained("saved").eval()
batch = words(["a b c"], return_tensors="pt")
batch.pop("token_type_ids", None)
tell("generated", again.generate(**batch, max_new_tokens=5, do_sample=False, pad_token_id=0))
