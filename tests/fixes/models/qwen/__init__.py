"""Cases that run in the child for the tests of fixes of Qwen's vision-language models."""
