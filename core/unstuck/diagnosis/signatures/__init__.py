"""Signatures of failures, and the fingerprint that makes two of them match."""
