"""A run as any screen sees it: the protocol, and its sources in this process and over the local socket."""
