"""A receiver that judges what it is sent with PyPI's standardwebhooks.

    verifier.py HOST:PORT KEY

Writes a line of JSON with the address it listens at, and one for each request: whether it is genuine, what the verifier
objected to, and the request as it came, its body as base64. Ends with its standard input.
"""

import base64
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError


def tell(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Judge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        head = {name.lower(): value for name, value in self.headers.items()}
        try:
            self.server.webhook.verify(body, head)
            objection = None
        except WebhookVerificationError as error:
            objection = str(error)
        tell({"genuine": objection is None, "objection": objection, "head": head,
              "body": base64.b64encode(body).decode()})
        self.send_response(204 if objection is None else 400)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


host, port = sys.argv[1].rsplit(":", 1)
server = ThreadingHTTPServer((host, int(port)), Judge)
server.daemon_threads = True
server.webhook = Webhook(sys.argv[2])
threading.Thread(target=server.serve_forever, daemon=True).start()
tell({"address": "%s:%d" % server.server_address})
sys.stdin.read()
os._exit(0)
