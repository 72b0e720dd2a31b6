"""The version of this package. A leaf, because the package itself names every public part."""

__version__ = "0.1.0"
