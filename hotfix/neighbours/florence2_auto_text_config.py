"""``AutoModelForCausalLM`` takes the text part of every configuration that has one.

Symptom   ``ValueError: Unrecognized configuration class <class '...Florence2LanguageConfig'> for this kind of
          AutoModel: AutoModelForCausalLM``, from Florence-2 and other remote code whose configuration has a text part.
Cause     A step that was meant for Gemma 3 hands on the text part of any configuration, known to the class or not.
Releases  4.50.0
Upstream  first fixed in 4.50.1, which never takes it
Here      The text part is taken where the class knows it and the whole has no remote code for the class; else the
          configuration stays what it was. Gemma 3 loads its text model as before, which 4.50.1 does not.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="florence2-auto-text-config",
    title="AutoModelForCausalLM: Unrecognized configuration class Florence2LanguageConfig",
    kind="crash",
    fixed_in="4.50.1",
)

FIX.edits(
    ("transformers.models.auto.modeling_auto:AutoModelForCausalLM._prepare_config_for_auto_class", "==4.50.0"),
    old="return config.get_text_config(decoder=True)",
    new="""
        has_remote_code = cls.__name__ in (getattr(config, "auto_map", None) or {})
        known = type(config.get_text_config(decoder=True)) in cls._model_mapping.keys()
        return config.get_text_config(decoder=True) if known and not has_remote_code else config
    """,
)
