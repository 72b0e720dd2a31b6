"""Words shown to people, for a terminal, a page or a remote view: made of values, without input or output."""
