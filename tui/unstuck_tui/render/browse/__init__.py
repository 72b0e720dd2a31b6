"""What the tabs of the browse screen say, as cells and lines. Pure."""
