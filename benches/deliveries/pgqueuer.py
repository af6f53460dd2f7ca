"""Deliveries by PgQueuer: so many jobs that each POST a signed body, 64 at once.

    pgqueuer.py SOCKET_DIRECTORY SINK_URL COUNT CONCURRENCY BODY_FILE

Adds the jobs, writes a line, and begins to work once a line comes in.
"""

import sys

# This file has the package's name, and its directory is looked in first.
sys.path.pop(0)

import asyncio
import hashlib
import hmac
import os
import threading
import time
from urllib.parse import urlsplit

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.queries import Queries

socket, sink, count, concurrency, file = sys.argv[1:]
body = open(file, "rb").read()
key = os.urandom(32)
target = urlsplit(sink)
count, concurrency = int(count), int(concurrency)
idle = []


async def deliver(raw):
    timestamp = str(int(time.time()))
    signature = hmac.new(key, timestamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
    reader, writer = idle.pop() if idle else await asyncio.open_connection(target.hostname, target.port)
    writer.write(
        (
            f"POST {target.path} HTTP/1.1\r\nhost: {target.netloc}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(raw)}\r\nx-svc-event: run.scheduled\r\nx-svc-timestamp: {timestamp}\r\n"
            f"x-svc-signature: sha256={signature}\r\n\r\n"
        ).encode()
        + raw
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 2"):
        raise RuntimeError(head)
    idle.append((reader, writer))


async def main():
    pool = await asyncpg.create_pool(host=socket, user="bench", database="postgres", min_size=4, max_size=16)
    driver = AsyncpgPoolDriver(pool)
    queries = Queries(driver)
    await queries.install()
    for begin in range(0, count, 1000):
        part = min(1000, count - begin)
        await queries.enqueue(["deliver"] * part, [body] * part, [0] * part)
    pgq = PgQueuer(driver)
    slots = asyncio.Semaphore(concurrency)

    @pgq.entrypoint("deliver")
    async def _(job):
        async with slots:
            await deliver(job.payload)

    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)

    def end():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    await pgq.run(batch_size=concurrency)


uvloop.install()
asyncio.run(main())
