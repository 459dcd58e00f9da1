"""``hotfix scan-code``: which names Python files take from transformers that some release does not have.

`references` reads the names from syntax trees, `missing` compares them with the releases, `formats` prints.
"""
