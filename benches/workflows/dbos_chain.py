"""Chains of durable steps by DBOS on PostgreSQL.

    dbos_chain.py SOCKET_DIRECTORY NODES

Writes a line when it is ready. Then each line on its input is `CHAINS AT_ONCE`: it runs so many chains, so many at once, and
writes how many seconds that took, and of each chain.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS

socket, nodes = sys.argv[1], int(sys.argv[2])
url = f"postgresql+psycopg://bench@/bench?host={socket}"
DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False})


@DBOS.step()
def step(number):
    return number


@DBOS.workflow()
def chain():
    for number in range(nodes):
        step(number)


def timed(_):
    begun = time.monotonic()
    chain()
    return time.monotonic() - begun


DBOS.launch()
timed(0)
print("ready", flush=True)
for line in sys.stdin:
    chains, at_once = map(int, line.split())
    begun = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        each = list(pool.map(timed, range(chains)))
    print(time.monotonic() - begun, *each, flush=True)
