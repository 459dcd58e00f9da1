"""The proofs of the fixes in `hotfix.loading`."""
