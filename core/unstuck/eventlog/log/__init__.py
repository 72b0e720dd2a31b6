"""Log file of a run: format, writer, reader, repair and snapshot."""
