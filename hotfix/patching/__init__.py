"""Change a live function, and restore it.

Four methods, least invasive first:

- `add`: define a name that the release lacks, in a module, a class or ``sys.modules``.
- `replace`: give the function the body of a small function of ours.
- `wrap`: bind a name to a closure of ours, which calls the original.
- `edit`: give the function its own body with a checked change of its syntax tree. The function that a decorator has put
  around one target can be edited, too; the functions that the decorator has put around others stay unchanged.

`replace` and `edit` assign ``function.__code__``. The function object stays the same, so everything that holds it
(from-imports, class maps, partials, closures, live bound methods, decorators around it) has the new body at once.
Pickling and ``inspect.signature`` do not change, and ``torch.compile`` sees the change because it guards on the code
object. `wrap` must install another object; it rebinds the copies of the name in other loaded modules.

`code` makes code objects and changes nothing live, `live` finds and rebinds objects, `journal` records changes and
undoes them. Every operation checks first, and refuses (`errors.Refusal`) rather than fit halfway.
"""
