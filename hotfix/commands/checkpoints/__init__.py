"""``hotfix check-model``: whether a release reads a checkpoint as it was saved."""
