"""Models whose labels are already aligned with their logits: the loss is the cross entropy of both."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


def against_own_cross_entropy(testbed, target):
    """Loss and what torch makes of logits and labels; the same after the user has put in a loss, and what it got."""
    from hotfix.proofs.training._writers import writer
    from hotfix.proofs.zoo import class_of

    model, inputs = writer(testbed, class_of(target))
    output = model(**inputs)
    logits, labels = output.logits, inputs["labels"]
    if not model.config.is_encoder_decoder:
        logits, labels = logits[:, -labels.shape[1] : -1], labels[:, 1:]
    given = []

    def own(logits, labels, **others):
        given.append((logits, labels))
        return logits.float().mean()

    losses = {"loss": output.loss, "own": torch.nn.functional.cross_entropy(logits.transpose(1, 2).float(), labels)}
    model.loss_function = own
    losses["of the user"] = model(**inputs).loss
    losses["is a mean"] = given[0][0].float().mean()
    losses["labels"] = given[0][1]
    return losses


@pytest.mark.parametrize(
    ("release", "model", "name"),
    [
        ("4.57.6", "vision_encoder_decoder", "VisionEncoderDecoderModel"),
        ("5.12.1", "florence2", "Florence2ForConditionalGeneration"),
        ("4.50.3", "git", "GitForCausalLM"),
    ],
)
def test_the_loss_is_the_cross_entropy_of_the_logits(release, model, name):
    target = SimpleNamespace(module=f"transformers.models.{model}.modeling_{model}", qualname=f"{name}.forward")
    stock, repaired = (
        run(f"{__name__}:against_own_cross_entropy", target=target, transformers=release, hotfix=hotfix).require()
        for hotfix in (False, True)
    )
    assert not torch.allclose(stock.tensors["loss"], stock.tensors["own"], rtol=1e-3)
    assert torch.allclose(repaired.tensors["loss"], repaired.tensors["own"], rtol=1e-5)
    # A loss function that the user has put in is given what it was given.
    assert repaired.tensors["of the user"].equal(repaired.tensors["is a mean"])
    assert repaired.tensors["labels"].equal(stock.tensors["labels"])
