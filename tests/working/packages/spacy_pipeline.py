"""spacy-transformers: a pipeline with a tiny model, trained for two steps, saved and read."""

from common import begin, bert, tell, texts

begin()
import spacy
from spacy.training import Example

nlp = spacy.blank("en")
config = {"model": {"@architectures": "spacy-transformers.TransformerModel.v3", "name": bert("base")}}
nlp.add_pipe("transformer", config=config)
nlp.add_pipe("textcat").add_label("A")
nlp.get_pipe("textcat").add_label("B")
examples = [
    Example.from_dict(nlp.make_doc(text), {"cats": {"A": number % 2, "B": 1 - number % 2}})
    for number, text in enumerate(texts())
]
nlp.initialize(lambda: examples)
losses = {}
for _ in range(2):
    nlp.update(examples, losses=losses)
tell("losses", {name: float(value) for name, value in losses.items()})
tell("vectors", nlp(texts()[3])._.trf_data.model_output.last_hidden_state)
nlp.to_disk("saved")
tell("read again", spacy.load("saved")(texts()[3]).cats)
