"""Reads messages, each in base64 on a line of its own, and writes what Python's email reads in each, as JSON on a line."""

import base64
import email
import json
import sys
from email import policy


def addresses(header):
    if header is None:
        return None
    return [
        [group.display_name, [[one.display_name, one.addr_spec] for one in group.addresses]] for group in header.groups
    ]


for line in sys.stdin.read().splitlines():
    message = email.message_from_bytes(base64.b64decode(line), policy=policy.default)
    parts = []
    for part in message.walk():
        defects = [type(defect).__name__ for defect in part.defects]
        defects += [type(defect).__name__ for value in part.values() for defect in getattr(value, "defects", ())]
        if part.is_multipart():
            parts.append({"type": part.get_content_type(), "defects": defects})
        else:
            content = part.get_payload(decode=True)
            parts.append(
                {
                    "type": part.get_content_type(),
                    "file": part.get_filename(),
                    "content": base64.b64encode(content).decode(),
                    "defects": defects,
                }
            )
    print(
        json.dumps(
            {
                "names": [name for name in message.keys()],
                "subject": message["subject"],
                "from": addresses(message["from"]),
                "to": addresses(message["to"]),
                "cc": addresses(message["cc"]),
                "id": message["message-id"],
                "answers": message["in-reply-to"],
                "references": message["references"],
                "date": message["date"].datetime.isoformat(),
                "parts": parts,
            }
        )
    )
