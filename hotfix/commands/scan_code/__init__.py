"""``hotfix scan-code``: the names that Python files use from transformers and that some release does not have.

`references` reads the names from syntax trees, `missing` compares them with the releases, `formats` prints.
"""
