"""Tables about every release, for the command and the tools. A program that uses hotfix reads none of them.

`symbols` has the names that were added or removed, `by_release` the source that reads configurations.
``unrepaired.json`` and ``titles.json`` have the known bugs that only an upgrade fixes (`hotfix.commands.bugs`).
"""
