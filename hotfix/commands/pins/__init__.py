"""The packages and versions that the files of a project name. `hotfix scan` and `hotfix audit` start from them."""
