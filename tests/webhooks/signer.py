"""Signs with PyPI's standardwebhooks.

    signer.py KEY < CALLS > SIGNATURES

CALLS is a JSON array of {"id", "timestamp", "body"}; SIGNATURES one of the values of webhook-signature.
"""

import datetime
import json
import sys

from standardwebhooks import Webhook

webhook = Webhook(sys.argv[1])
at = lambda seconds: datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
calls = json.load(sys.stdin)
json.dump([webhook.sign(call["id"], at(call["timestamp"]), call["body"]) for call in calls], sys.stdout)
