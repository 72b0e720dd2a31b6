"""A host that says what a test tells it to: frames from a file, one a line, and then nothing for ever."""

from __future__ import annotations

import sys

with open(sys.argv[1], "rb") as frames:
    for line in frames:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        if b'"hello"' in line:
            sys.stdin.buffer.readline()
for line in sys.stdin.buffer:
    with open(f"{sys.argv[1]}.heard", "ab") as heard:
        heard.write(line)
