"""setfit: a few-shot classifier, trained, saved and read."""

from common import begin, bert, dataset, tell, tell_folder, texts

begin()
from sentence_transformers import SentenceTransformer, models
from setfit import SetFitModel, Trainer, TrainingArguments

words = models.Transformer(bert("base"), max_seq_length=16)
body = SentenceTransformer(modules=[words, models.Pooling(words.get_word_embedding_dimension())], device="cpu")
body.save("body")
model = SetFitModel.from_pretrained("body")
trainer = Trainer(
    model=model,
    args=TrainingArguments(batch_size=4, num_epochs=1, num_iterations=1, report_to="none", seed=0, save_strategy="no"),
    train_dataset=dataset(text=texts(), label=[0, 1] * 4),
)
trainer.train()
tell("labels", [int(label) for label in model.predict(texts())])
tell("probabilities", model.predict_proba(texts(), as_numpy=False))
model.save_pretrained("saved")
tell_folder("saved")
tell("read again", [int(label) for label in SetFitModel.from_pretrained("saved").predict(texts())])
