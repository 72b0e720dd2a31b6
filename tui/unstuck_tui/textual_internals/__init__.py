"""Everything that Textual does not promise to keep: its private names, used here and nowhere else.

A release of Textual that changes one of them breaks one of these modules, and a test that names it.
"""
