"""Neighbours of transformers (accelerate, peft, trl, kernels …) from another month, and what they ask for."""
