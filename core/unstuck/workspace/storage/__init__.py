"""Storage of checkpoints: a private git index for each tree, and one bare repository."""
