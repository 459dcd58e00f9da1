"""Draws for the bugs of losses and of the Trainer."""
