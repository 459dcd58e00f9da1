"""LoRA on a causal language model: two steps of the Trainer, generation, saving and reading."""

from pathlib import Path

from common import arguments, begin, encoded, llama, tell, tell_folder, tell_model, tell_training, tokenizer

begin()
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, DataCollatorForLanguageModeling, Trainer, TrainingArguments

base, words = llama("base"), tokenizer()
model = get_peft_model(
    AutoModelForCausalLM.from_pretrained(base),
    LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj", "v_proj"], lora_dropout=0.0),
)
data = encoded(words)
trainer = Trainer(
    model=model,
    args=arguments(TrainingArguments, "out"),
    train_dataset=data,
    data_collator=DataCollatorForLanguageModeling(words, mlm=False),
)
tell_training(trainer.train().metrics)
tell("log history", [row.get("loss") for row in trainer.state.log_history])
tell_model(model)
model.eval()
batch = words(["a b c", "d"], return_tensors="pt", padding=True)
batch.pop("token_type_ids", None)
tell("generated", model.generate(**batch, max_new_tokens=5, do_sample=False, pad_token_id=0))
model.save_pretrained("adapter")
tell_folder("adapter")
again = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), Path("adapter")).eval()
with torch.no_grad():
    tell("logits", again(**batch).logits)
merged = again.merge_and_unload()
merged.save_pretrained("merged")
tell_folder("merged")
