"""``hotfix scan``: the known bugs that the pins of a project allow, and the upgrades that end them.

`affected` judges pins, `settings` reads the project's own settings in its pyproject.toml, `formats` prints.
"""
