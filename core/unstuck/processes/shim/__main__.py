"""Start of the shim, by its path and without site-packages; Python compiles only this file at every start."""

import gc
import os
import sys

# The other folders hold what the rules about secrets import.
sys.path += [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *sys.argv[1:]]
gc.disable()
main = __import__("shim.agent_process", fromlist=["main"]).main
# The objects of modules are no garbage: the collector skips them at the end.
gc.freeze()
gc.enable()
main()
