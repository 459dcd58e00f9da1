"""Registering a class under a string, and not under a configuration, raises.

Symptom   ``AttributeError: 'str' object has no attribute '__module__'`` when mlx-lm, mlx-vlm or docling-ibm-models is
          imported: ``AutoTokenizer.register("NewlineTokenizer", fast_tokenizer_class=NewlineTokenizer)``.
Cause     5.13.0 ignores a registration for a configuration class of the library. To recognize one, it reads the
          ``__module__`` of the key, which a string does not have.
Releases  5.13.0
Upstream  transformers#46876 (brought it), transformers#47148 (fixed in 5.13.1)
Here      A key without a module is registered, as in 5.13.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AutoTokenizer.register raises AttributeError: 'str' object has no attribute '__module__'",
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
