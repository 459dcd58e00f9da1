"""Change a live function, and change it back.

Four methods, least invasive first:

- `add`: a name that the release does not have gets a meaning, in a module, a class or ``sys.modules``.
- `replace`: the function gets the body of a small function of ours.
- `wrap`: a closure of ours takes the place of a name; it calls what stood there before.
- `edit`: the function gets its own body with a checked change of its syntax tree. So can the function that a decorator
  has put around one target: what the decorator has put around others stays as it is.

`replace` and `edit` exchange ``function.__code__``. The function object stays the same one, so that everything that
holds it (from-imports, class maps, partials, closures, live bound methods, decorators around it) has the new body at
once, pickling and ``inspect.signature`` are as they were, and ``torch.compile`` sees the change, since it guards on the
code object. `wrap` has to put another object in place; copies of the name in other loaded modules are rebound.

`code` makes code objects and touches nothing, `live` finds and rebinds objects, `journal` knows what was done and
undoes it. Every operation is checked first and refuses (`errors.Refusal`) rather than fit halfway.
"""
