"""FlagEmbedding: vectors of texts, and scores of a reranker, from tiny models."""

from common import begin, bert, tell, texts

begin()
from FlagEmbedding import FlagModel, FlagReranker

model = FlagModel(bert("base"), query_instruction_for_retrieval="a: ", use_fp16=False)
tell("passages", model.encode(texts()))
tell("queries", model.encode_queries(texts()[:3]))
ranker = FlagReranker(bert("ranker", "BertForSequenceClassification", num_labels=1), use_fp16=False)
tell("scores", ranker.compute_score([["a b", "c d"], ["e", "f g h"]]))
