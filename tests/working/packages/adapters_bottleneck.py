"""adapters: a bottleneck adapter on a BERT classifier, trained, saved and read."""

from common import arguments, begin, bert, dataset, tell, tell_folder, tell_model, tell_training, texts, tokenizer

begin()
import torch
from adapters import AdapterTrainer, AutoAdapterModel
from transformers import TrainingArguments

words = tokenizer()
model = AutoAdapterModel.from_pretrained(bert("base"))
model.add_adapter("letters", config="seq_bn")
model.add_classification_head("letters", num_labels=2)
model.train_adapter("letters")
rows = [words(text, padding="max_length", max_length=16) for text in texts()]
data = dataset(labels=[0, 1] * 4, **{name: [row[name] for row in rows] for name in rows[0]})
trainer = AdapterTrainer(model=model, args=arguments(TrainingArguments, "out"), train_dataset=data)
tell_training(trainer.train().metrics)
tell_model(model)
model.save_all_adapters("saved")
tell_folder("saved")
again = AutoAdapterModel.from_pretrained("base")
again.load_adapter("saved/letters", set_active=True)
with torch.no_grad():
    tell("logits", again.eval()(**words(["a b"], return_tensors="pt")).logits)
