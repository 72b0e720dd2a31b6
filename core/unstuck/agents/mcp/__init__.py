"""What any agent may ask of the supervisor by itself, over the Model Context Protocol."""
