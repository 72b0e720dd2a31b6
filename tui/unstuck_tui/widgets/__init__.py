"""The parts of the screen, one module each."""
