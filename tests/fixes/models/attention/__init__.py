"""What runs in the child: each module has the cases for the tests of one fix."""
