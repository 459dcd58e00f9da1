"""What runs in the child for the tests of the fixes of Qwen's vision-language models."""
