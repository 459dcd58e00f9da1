"""Tables about every release, for the command and the tools: none is read in a program that uses hotfix.

`symbols` has the names that came and went, `by_release` what each release understands of configurations;
``unrepaired.json`` and ``titles.json`` are the known bugs that only an upgrade ends (`hotfix.commands.bugs`).
"""
