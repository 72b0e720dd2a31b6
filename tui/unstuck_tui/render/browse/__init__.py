"""The tabs of the browse screen as cells and lines. Pure."""
