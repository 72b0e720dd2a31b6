"""A program that is taken for Claude Code and speaks wrongly, as its first argument says; the rest it passes over."""

from __future__ import annotations

import json
import sys

match sys.argv[1]:
    case "early":
        sys.stdin.readline()
        sys.exit("cannot start: no space left")
    case "long":
        sys.stdin.readline()
        sys.stdout.write('{"type": "system", "text": "' + "x" * 20_000_000)
        sys.stdout.flush()
        sys.stdin.read()
    case "other":
        asked = json.loads(sys.stdin.readline())
        refusal = {"subtype": "error", "request_id": asked["request_id"], "error": "Unsupported: initialize"}
        print(json.dumps({"type": "control_response", "response": refusal}), flush=True)
        sys.stdin.read()
