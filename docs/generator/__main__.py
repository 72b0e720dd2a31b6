"""``python -m docs.generator DIRECTORY`` writes the source of the site there."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.generator.site import write_site

write_site(Path(sys.argv[1]))
