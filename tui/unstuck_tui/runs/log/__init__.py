"""An event log read by line: found, counted and searched without reading all of it. Everything here blocks."""
