"""Says of each line {"schema": ..., "payload": ...} whether the payload fits, as jsonschema has it."""

import json
import sys

from jsonschema import Draft202012Validator

for line in sys.stdin.read().splitlines():
    case = json.loads(line)
    print("true" if Draft202012Validator(case["schema"]).is_valid(case["payload"]) else "false")
