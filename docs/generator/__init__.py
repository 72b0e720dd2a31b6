"""Builds the source of the documentation site: pages, tables read from the code, pictures and ``llms.txt``."""
