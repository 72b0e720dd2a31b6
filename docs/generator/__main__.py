"""``python -m docs.generator DIRECTORY`` writes the source of the site there."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.generator.site import write_site

if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit("use: python -m docs.generator DIRECTORY")
write_site(Path(sys.argv[1]))
