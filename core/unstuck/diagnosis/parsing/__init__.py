"""A tool's output, parsed once: the failure it reports, and the closing lines of runners."""
