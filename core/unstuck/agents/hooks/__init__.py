"""The hooks of agents that somebody else runs: what they say, what they understand, and how they are set up."""
