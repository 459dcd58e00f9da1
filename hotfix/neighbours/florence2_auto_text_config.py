"""``AutoModelForCausalLM`` takes the text part of every configuration that has one.

Symptom   ``ValueError: Unrecognized configuration class <class '...Florence2LanguageConfig'> for this kind of
          AutoModel: AutoModelForCausalLM``, from Florence-2 and other remote code whose configuration has a text part.
Cause     A step that was meant for Gemma 3 passes on the text part of any configuration, known to the class or not.
Releases  4.50.0
Upstream  first fixed in 4.50.1, which never takes it
Here      The text part is taken where the class knows it, or it has remote code of its own; else the configuration
          stays what it was. With ``trust_remote_code=True`` the remote code of the whole goes first. Gemma 3 loads its
          text model as before, which 4.50.1 does not.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AutoModelForCausalLM: Unrecognized configuration class Florence2LanguageConfig",
    kind="crash",
    fixed_in="4.50.1",
    errors=(
        "ValueError: Unrecognized configuration class <class '….Florence2LanguageConfig'> "
        "for this kind of AutoModel: AutoModelForCausalLM.",
    ),
    everyone="only where the class knows the whole and not the text part, at which the release raises",
)

FIX.edits(
    ("transformers.models.auto.modeling_auto:AutoModelForCausalLM._prepare_config_for_auto_class", "==4.50.0"),
    old="return config.get_text_config(decoder=True)",
    new="""
        text_config = config.get_text_config(decoder=True)
        import sys
        has_remote_code = cls.__name__ in (getattr(config, "auto_map", None) or {})
        has_remote_code = has_remote_code and sys._getframe(1).f_locals.get("trust_remote_code")
        of_remote_code = cls.__name__ in (getattr(text_config, "auto_map", None) or {})
        known = of_remote_code or type(text_config) in cls._model_mapping.keys()
        if known and not has_remote_code:
            return text_config
        import hotfix.patching.scope as _scope
        if not known and _scope.is_handled_around("florence2-auto-text-config", ValueError):
            return text_config
        return config
    """,
)
