"""A small process between the supervisor and one agent; standard library only, but for the rules about secrets.

It is run as ``python -I -S -X utf8 shim/__main__.py`` in a session of its own and talks in JSON lines.

Orders (standard input)::

    {"command": [...], "cwd": "...", "env": {...}, "output": "/path", "stdin": "/path" or null, "limit": bytes,
     "secrets": ["..."]}
    {"go": tag}                                     let the agent run, with the tag in its environment
    {"stop": {"interrupt": s, "terminate": s}}      end it and everything it started
    {"freeze": true}  {"continue": true}

Reports (standard output)::

    {"spawned": pid, "start": seconds since 1970 or null, "shim": pid}
    {"not_started": "ENOENT", "message": "..."}     then the shim ends
    {"started": true}
    {"bytes": total, "tail": the last 4 KB as text}
    {"lines": ["UNSTUCK {...}", ...]}               lines in which the agent speaks to its supervisor
    {"exited": {"code", "signal", "seconds", "bytes", "start", "end", "lost"}, "ended": [[pid, start, how]],
     "alive": [[pid, start]], "blind": whether it could see no more than the agent and its group}

The end of its standard input means that the supervisor died: the agent is stopped, quickly, and the last report is left
beside the output, in a file with ``.end`` after its name. The shim is the subreaper
of all that the agent starts, so no descendant escapes by a double fork or a new session.
"""
