"""Registering a class under a string, and not under a configuration, raises.

Symptom   ``AttributeError: 'str' object has no attribute '__module__'`` when mlx-lm, mlx-vlm or docling-ibm-models is
          imported: ``AutoTokenizer.register("NewlineTokenizer", fast_tokenizer_class=NewlineTokenizer)``.
Cause     What is registered for a configuration of the library's own is ignored since 5.13.0; the key is asked for its
          module for that, and a string has none.
Releases  5.13.0
Upstream  transformers#46876 (brought it), transformers#47148 (fixed in 5.13.1)
Here      As there: what has no module is registered, as ever.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'str' object has no attribute '__module__', from AutoTokenizer.register",
    kind="crash",
    errors=("AttributeError: 'str' object has no attribute '__module__'",),
    on_error=True,
    upstream=("transformers#46876", "transformers#47148"),
    fixed_in="5.13.1",
)

FIX.edits(
    ("transformers.models.auto.auto_factory:_LazyAutoMapping.register", "==5.13.0"),
    old="key.__module__.startswith(__PACKAGE)",
    new="getattr(key, '__module__', '').startswith(__PACKAGE)",
)
