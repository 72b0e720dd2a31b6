"""Pure functions: state and records in, text out."""
