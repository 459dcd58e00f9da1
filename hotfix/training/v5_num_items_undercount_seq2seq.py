"""The Trainer leaves out the first label of each text of an encoder-decoder, where every label is predicted.

Symptom   Silent. Loss and gradients of encoder-decoders are too large by one label a text: 8/6 of the right ones for
          two texts of four labels. It matters for short ones: answers, classes that are written out, commands.
Cause     Since 5.10.1 ``num_items_in_batch`` leaves out the first label of each row where the loss moves the labels.
          Encoder-decoders have the same loss by name, and their labels are aligned with their logits.
Releases  5.10.1 to 5.14.1
Upstream  transformers#46903 (fixed in 5.15.0)
Here      All labels of an encoder-decoder of the library are counted. Equal to 5.15.0. One with a forward of the
          user's may move its labels: it is counted as before, and so are a ``training_step``, a ``compute_loss``, a
          ``compute_loss_func`` and a ``loss_function`` that leave the first label out (``labels[..., 1:]``,
          ``labels[:, 0] = -100``, ``narrow``), or call such a function. The same holds where one of the first three
          corrects the number (``num_items_in_batch + rows``).
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Loss and gradients of encoder-decoders are too large: the first label of each text is not counted",
    kind="silent",
    upstream=("transformers#46903",),
    fixed_in="5.15.0",
    everyone="only for encoder-decoders with the library's forward: the new code tests it itself",
)

_CAUSAL = "LOSS_MAPPING.get(getattr(model_to_inspect, 'loss_type', None)) is ForCausalLMLoss"

FIX.edits(
    ("transformers.trainer:Trainer.__init__", ">=5.10.1,<=5.14.1"),
    old=f"self._loss_shifts_labels = {_CAUSAL}",
    new=f"""
        import hotfix.training._labels as _labels
        import hotfix.training._passed_on as _passed_on
        self._loss_shifts_labels = {_CAUSAL} and not (
            getattr(getattr(model_to_inspect, 'config', None), 'is_encoder_decoder', False)
            and _passed_on.is_library_path('v5-num-items-undercount-seq2seq', model_to_inspect, 'forward')
            and not _labels.may_move_labels(_passed_on.loss_function_of(model_to_inspect))
            and not _labels.counts_by_itself(compute_loss_func)
            and not _labels.counts_by_itself(self.compute_loss, self)
            and not _labels.counts_by_itself(self.training_step, self)
        )
    """,
)
