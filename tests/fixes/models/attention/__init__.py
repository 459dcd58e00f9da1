"""Cases that run in the child: each module has those for the tests of one fix."""
