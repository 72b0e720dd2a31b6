"""Diagnosis of failures: signature, location, error type, failure type, category and cause. Pure: no I/O, no clock.

This module imports nothing, so that reading a diagnosis imports no rules.
"""
