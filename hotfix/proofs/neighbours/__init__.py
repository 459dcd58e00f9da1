"""The proofs of the fixes in `hotfix.neighbours`."""
