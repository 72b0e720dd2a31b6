"""Start the shim, by its path and without site-packages; only this file is compiled anew at every start."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
__import__("shim.attendant", fromlist=["main"]).main()
