"""Tool calls and their results, in the form that the rules compare. Pure."""
