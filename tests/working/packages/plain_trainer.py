"""transformers alone: three models trained, generated from, saved, resumed and read."""

from common import arguments, begin, bert, encoded, llama, tell, tell_folder, tell_model, tell_training, tokenizer

begin()
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    pipeline,
)

folder, words = llama("base"), tokenizer()
model = AutoModelForCausalLM.from_pretrained(folder)
data = encoded(words)
collator = DataCollatorForLanguageModeling(words, mlm=False)
settings = arguments(TrainingArguments, "out", gradient_accumulation_steps=1, save_strategy="steps", save_steps=1)
trainer = Trainer(model=model, args=settings, train_dataset=data, eval_dataset=data, data_collator=collator)
tell_training(trainer.train().metrics)
tell_training(trainer.evaluate())
tell_model(model)
tell_folder("out/checkpoint-1")
again = Trainer(
    model=AutoModelForCausalLM.from_pretrained(folder), args=settings, train_dataset=data, data_collator=collator
)
try:
    again.train(resume_from_checkpoint="out/checkpoint-1")
    tell_model(again.model)
except Exception as error:  # some releases cannot resume under this torch
    tell("resuming", f"{type(error).__name__}: {error}")
classifier = AutoModelForSequenceClassification.from_pretrained(bert("bert", num_labels=2))
data = encoded(words, labels=[0, 1] * 4)
settings = arguments(TrainingArguments, "out2", gradient_accumulation_steps=1, label_smoothing_factor=0.1)
trainer = Trainer(model=classifier, args=settings, train_dataset=data, data_collator=DataCollatorWithPadding(words))
tell_training(trainer.train().metrics)
tell_model(classifier)
write = pipeline("text-generation", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu")
tell("pipeline", write("a b c", max_new_tokens=4, do_sample=False))
chat = words.apply_chat_template([{"role": "user", "content": "a b"}], tokenize=False)
tell("chat", chat)
