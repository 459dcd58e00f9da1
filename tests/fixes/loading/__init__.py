"""Tests of the fixes in `hotfix.names`."""
