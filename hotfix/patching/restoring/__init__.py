"""Names that a module or a class gives only to code that would fail without them (see `hotfix.asking`).

A module gets its own class, derived from its present class, with a descriptor for each name. Its dictionary does not
change: `hasattr`, ``dir()``, ``vars()`` and ``try: from module import name`` give the same results as before. A name
that other code sets in the module takes precedence, and so does the module's own ``__getattr__``. A class gets the
descriptor itself, so its ``dir()`` has one more name. A class further down the method resolution order takes
precedence. A dictionary of a module is replaced by a copy that can supply missing keys. A last finder supplies removed
modules to ``import`` statements that would fail; once a program has received such a module, the whole process has it.

Under ``torch.compile`` no frame of the program runs; the compiler's record of the traced code decides.
"""

from .absence import cannot_import, missing, with_line
from .class_members import put_in_class, take_from_class
from .descriptors import Restored, Subscript, Writable, descriptor_of
from .entries import Entries
from .module_class import BASE, class_of, home_of, own_answer, put, take
from .modules import MODULES, Modules
from .need import granting, imports, imports_all, left_open, prepare, sets, would_end
from .receipts import Received, forget, note, on_first, received

__all__ = [
    "BASE",
    "MODULES",
    "Entries",
    "Modules",
    "Received",
    "Restored",
    "Subscript",
    "Writable",
    "cannot_import",
    "class_of",
    "descriptor_of",
    "forget",
    "granting",
    "home_of",
    "imports",
    "imports_all",
    "left_open",
    "missing",
    "note",
    "on_first",
    "own_answer",
    "prepare",
    "put",
    "put_in_class",
    "received",
    "sets",
    "take",
    "take_from_class",
    "with_line",
    "would_end",
]
