"""Tools of the supervisor for any agent, over the Model Context Protocol."""
