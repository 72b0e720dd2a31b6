"""Start the shim, by its path and without site-packages; only this file is compiled anew at every start.

With ``serve`` behind it, it is the process that forks the shims.
"""

import gc
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
gc.disable()
main = __import__("shim.agent_process", fromlist=["main"]).main
# What modules are made of is no garbage, and need not be looked through at the end.
gc.freeze()
gc.enable()
if sys.argv[1:] == ["serve"]:
    __import__("shim.fork_server", fromlist=["serve"]).serve()
main()
