"""Which packages, in which versions, the files of a project name: what `hotfix scan` and `hotfix audit` start from."""
