"""Text matching that the rules share: literal prefilters, lazily compiled patterns, context-window messages."""
