"""The version of hotfix."""

__version__ = "0.1.0"
