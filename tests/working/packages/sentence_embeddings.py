"""sentence-transformers: embeddings, a few steps of training, saving and reading."""

from common import arguments, begin, bert, dataset, tell, tell_folder, tell_model, texts

begin()
from sentence_transformers import InputExample, SentenceTransformer, losses, models
from torch.utils.data import DataLoader

words = models.Transformer(bert("base"), max_seq_length=16)
model = SentenceTransformer(modules=[words, models.Pooling(words.get_word_embedding_dimension())], device="cpu")
tell("embeddings", model.encode(texts(), convert_to_tensor=True, show_progress_bar=False))
pairs = list(zip(texts()[:4], texts()[4:]))
try:
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
except ImportError:  # before 3.0
    loader = DataLoader([InputExample(texts=list(pair)) for pair in pairs], batch_size=2)
    objective = (loader, losses.MultipleNegativesRankingLoss(model))
    model.fit(train_objectives=[objective], epochs=1, warmup_steps=0, show_progress_bar=False)
else:
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments(SentenceTransformerTrainingArguments, "out"),
        train_dataset=dataset(anchor=[a for a, _ in pairs], positive=[b for _, b in pairs]),
        loss=losses.MultipleNegativesRankingLoss(model),
    )
    trainer.train()
    tell("losses", [row.get("loss") for row in trainer.state.log_history])
tell_model(model)
model.save("saved")
tell_folder("saved")
tell("read again", SentenceTransformer("saved", device="cpu").encode(texts(), convert_to_tensor=True))
