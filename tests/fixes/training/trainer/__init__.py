"""What the tests of the Trainer's fixes run on the testbed."""
