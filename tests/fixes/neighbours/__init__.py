"""Tests of the fixes in `hotfix.neighbours`."""
