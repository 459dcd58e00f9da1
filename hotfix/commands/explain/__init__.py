"""``hotfix explain``: the report of a bug, found by its id or by an error message.

`messages` compares a message with those of the known bugs; `name_history` answers where the release is merely too old
or too new for a name.
"""
