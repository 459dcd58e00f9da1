"""``hotfix explain``: the report of a bug, found by its id, by an error message or by a description.

`messages` compares an error message with those of the known bugs. `removed_names` answers for names that a table
restores, `name_history` for names that the release is too old or too new for, and `description` guesses.
"""
