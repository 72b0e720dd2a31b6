"""What went wrong: signature, location, error type, failure type, category and cause. Pure: no I/O, no clock.

This package file imports nothing: whoever only reads what was found needs none of the rules that find it.
"""
