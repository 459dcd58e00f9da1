"""The words after ``hotfix``: a package for each product, a module for each small command, and what they share.

`hotfix.commands.main` lists the words with their modules. Each of these has `HELP` (one line), `EXAMPLES` (command
lines), ``arguments(parser)`` and ``run(chosen)``, which returns the exit status. `main` runs them and is the only place
that turns errors into a line on stderr. Nothing here is imported by a program that uses hotfix.

Commands print through `screen`, which writes plain text unless there is a terminal and ``rich``; ``--json`` needs
neither. ``rich`` and its companions come with the extra ``cli``.
"""

from __future__ import annotations

from ..errors import HotfixError


class CommandError(HotfixError):
    """The request cannot be fulfilled; the message, one line, gives the reason and the remedy."""
