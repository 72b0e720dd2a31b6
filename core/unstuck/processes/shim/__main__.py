"""Start of the shim, by its path and without site-packages; Python compiles only this file at every start."""

import gc
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
gc.disable()
main = __import__("shim.agent_process", fromlist=["main"]).main
# The objects of modules are no garbage: the collector skips them at the end.
gc.freeze()
gc.enable()
main()
