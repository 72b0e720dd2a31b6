"""Research without a model: the code around a failure, and installed packages."""
