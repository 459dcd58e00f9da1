"""What is read from outside (configurations, tokenizers, weights), brought into the form that a release understands."""
