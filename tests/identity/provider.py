# The provider `oidc-provider-mock` of PyPI on a free port: python3 provider.py. It says where it listens, and ends with its
# standard input.
import json
import logging
import sys

from oidc_provider_mock import run_server_in_thread

logging.disable(logging.CRITICAL)
with run_server_in_thread(issue_refresh_token=False) as server:
    print(json.dumps({"issuer": f"http://localhost:{server.server_port}"}), flush=True)
    sys.stdin.read()
