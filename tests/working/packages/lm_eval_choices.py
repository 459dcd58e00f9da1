"""lm-eval: log-likelihoods and greedy completions of a tiny model."""

from common import begin, llama, tell

begin()
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM

model = HFLM(pretrained=llama("base"), device="cpu", batch_size=2, dtype="float32")
pairs = [("a b", " c"), ("d", " e f g"), ("", " h")]
asked = [Instance("loglikelihood", {}, pair, number) for number, pair in enumerate(pairs)]
tell("log-likelihoods", model.loglikelihood(asked, disable_tqdm=True))
options = {"until": ["z"], "max_gen_toks": 4, "do_sample": False}
asked = [Instance("generate_until", {}, (text, options), number) for number, text in enumerate(["a b c", "d e"])]
tell("completions", model.generate_until(asked, disable_tqdm=True))
