"""Sessions that agents have kept: transcripts and recorded streams in, reviews out. Nothing is written or sent.

``locations`` finds them, ``session_reader`` turns any of them into observations, ``review`` judges those (pure), and
``reviews`` does it for many files at once. It opens no run.
"""
