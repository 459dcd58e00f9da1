"""``hotfix scan``: which known bugs the pins of a project allow, and what ends them.

`affected` judges pins, `settings` is what a project asks for in its pyproject.toml, `formats` prints.
"""
