"""Cases of the Trainer's fixes, which run on the testbed."""
