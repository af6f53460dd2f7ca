"""Matrix Synapse beside our own messaging: durable sends, and how soon a long poll hears of one.

synapse.py POSTGRES_SOCKET DIRECTORY PAIRS: starts a homeserver in the directory, on the PostgreSQL of the socket (whose
database is `synapse`, user `bench`), with so many pairs of users who share a room, and prints `ready`. Then it reads lines:

    send CONNECTIONS BYTES SECONDS      prints sends a second, and the server's CPU for each in microseconds
    wake BYTES PER_SECOND SECONDS       prints the number of messages, and p50 and p99 in milliseconds, from the answer to the
                                        send to the answer of the recipient's /sync
"""

import asyncio
import hashlib
import hmac
import json
import os
import signal
import socket as sockets
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
SECRET = "bench"


def free_port():
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(postgres, directory, port):
    unlimited = {"per_second": 1000000, "burst_count": 1000000}
    return {
        "server_name": "bench",
        "pid_file": f"{directory}/pid",
        "report_stats": False,
        "suppress_key_server_warning": True,
        "trusted_key_servers": [],
        "media_store_path": f"{directory}/media",
        "signing_key_path": f"{directory}/signing.key",
        "log_config": f"{directory}/log.yaml",
        "registration_shared_secret": SECRET,
        "macaroon_secret_key": SECRET,
        "form_secret": SECRET,
        "presence": {"enabled": False},
        "listeners": [
            {
                "port": port,
                "type": "http",
                "bind_addresses": ["127.0.0.1"],
                "resources": [{"names": ["client"], "compress": False}],
            }
        ],
        "database": {
            "name": "psycopg2",
            "allow_unsafe_locale": True,
            "args": {"user": "bench", "database": "synapse", "host": postgres, "cp_min": 10, "cp_max": 20},
        },
        "rc_message": unlimited,
        "rc_registration": unlimited,
        "rc_joins": {"local": unlimited, "remote": unlimited},
        "rc_joins_per_room": unlimited,
        "rc_invites": {"per_room": unlimited, "per_user": unlimited, "per_issuer": unlimited},
        "rc_login": {"address": unlimited, "account": unlimited, "failed_attempts": unlimited},
        "rc_room_creation": unlimited,
    }


def start(postgres, directory):
    port = free_port()
    with open(f"{directory}/log.yaml", "w", encoding="utf-8") as log:
        json.dump({"version": 1, "root": {"level": "CRITICAL"}, "disable_existing_loggers": True}, log)
    with open(f"{directory}/homeserver.yaml", "w", encoding="utf-8") as file:
        json.dump(configuration(postgres, directory, port), file)
    command = [sys.executable, "-m", "synapse.app.homeserver", "--config-path", f"{directory}/homeserver.yaml"]
    subprocess.run([*command, "--generate-keys"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    output = open(f"{directory}/output", "wb")
    return port, subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)


class Connection:
    """One that is kept open, with as little work as possible."""

    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    async def call(self, method, path, token="", body=None):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Length: {len(data)}\r\n"
        if token:
            head += f"Authorization: Bearer {token}\r\n"
        self.writer.write(head.encode() + b"\r\n" + data)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        if "transfer-encoding: chunked" in head:
            answer = b""
            while length := int((await self.reader.readline()).strip(), 16):
                answer += await self.reader.readexactly(length)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
        else:
            answer = await self.reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
        if not head.startswith("http/1.1 200"):
            raise RuntimeError(f"{method} {path}: {head.splitlines()[0]} {answer[:300]}")
        return json.loads(answer)


async def register(connection, name):
    path = "/_synapse/admin/v1/register"
    nonce = (await connection.call("GET", path))["nonce"]
    said = b"\x00".join([nonce.encode(), name.encode(), b"password", b"notadmin"])
    mac = hmac.new(SECRET.encode(), said, hashlib.sha1).hexdigest()
    body = {"nonce": nonce, "username": name, "password": "password", "admin": False, "mac": mac}
    return (await connection.call("POST", path, body=body))["access_token"]


class Pair:
    """Somebody who writes, somebody who reads, and their room."""

    def __init__(self, number):
        self.number = number
        self.sent = 0

    async def meet(self, connection):
        self.writer = await register(connection, f"writer{self.number}")
        self.reader = await register(connection, f"reader{self.number}")
        room = {"preset": "private_chat", "invite": [f"@reader{self.number}:bench"]}
        made = await connection.call("POST", "/_matrix/client/v3/createRoom", self.writer, room)
        self.room = made["room_id"]
        await connection.call("POST", f"/_matrix/client/v3/rooms/{self.room}/join", self.reader, {})

    async def send(self, connection, text):
        self.sent += 1
        path = f"/_matrix/client/v3/rooms/{self.room}/send/m.room.message/t{self.number}-{self.sent}-{time.time_ns()}"
        await connection.call("PUT", path, self.writer, {"msgtype": "m.text", "body": text})


def cpu_seconds(pids):
    def used(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                return sum(int(field) for field in stat.read().rsplit(")", 1)[1].split()[11:15])
        except FileNotFoundError:
            return 0

    return sum(used(pid) for pid in pids) / TICKS


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


async def send_all(port, pairs, connections, size, seconds):
    text, begun, done = "x" * size, time.monotonic(), 0

    async def caller(number):
        nonlocal done
        connection = Connection(port)
        # Each has pairs of its own: a room takes one message after the other.
        own = [pair for place, pair in enumerate(pairs) if place % connections == number] or [pairs[number % len(pairs)]]
        turn = 0
        while time.monotonic() - begun < seconds:
            await own[turn % len(own)].send(connection, text)
            turn += 1
            done += 1

    await asyncio.gather(*(caller(number) for number in range(connections)))
    return done, time.monotonic() - begun


async def wake_all(port, pairs, size, per_second, seconds):
    text, answered, delays, is_over = "x" * size, {}, [], False

    async def reader(pair):
        connection = Connection(port)
        filtered = '%7B%22room%22%3A%7B%22timeline%22%3A%7B%22limit%22%3A1%7D%7D%7D'
        since = (await connection.call("GET", f"/_matrix/client/v3/sync?filter={filtered}", pair.reader))["next_batch"]
        ready.release()
        while not is_over:
            path = f"/_matrix/client/v3/sync?timeout=2000&filter={filtered}&since={since}"
            answer = await connection.call("GET", path, pair.reader)
            since = answer["next_batch"]
            if answer.get("rooms", {}).get("join"):
                arrived = time.monotonic()
                sent = answered.get(pair.number)
                delays.append(max(0.0, arrived - sent) if sent else 0.0)

    ready = asyncio.Semaphore(0)
    readers = [asyncio.create_task(reader(pair)) for pair in pairs]
    for _ in pairs:
        await ready.acquire()
    begun, number = time.monotonic(), 0
    connections = [Connection(port) for _ in range(16)]

    async def one(pair, connection):
        answered.pop(pair.number, None)
        await pair.send(connection, text)
        answered[pair.number] = time.monotonic()

    waiting = set()
    while time.monotonic() - begun < seconds:
        await asyncio.sleep(max(0, begun + number / per_second - time.monotonic()))
        if connections:
            connection, pair = connections.pop(), pairs[number % len(pairs)]
            task = asyncio.create_task(one(pair, connection))
            task.add_done_callback(lambda task, connection=connection: connections.append(connection))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        number += 1
    await asyncio.gather(*waiting)
    await asyncio.sleep(3)
    is_over = True
    await asyncio.gather(*readers)
    delays.sort()
    at = lambda share: delays[min(len(delays) - 1, int(len(delays) * share))] * 1000
    return len(delays), at(0.5), at(0.99)


async def main():
    postgres, directory, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(os.path.join(postgres, "data/postmaster.pid"), encoding="utf-8") as file:
        database = int(file.readline())
    port, server = start(postgres, directory)
    try:
        connection, begun = Connection(port), time.monotonic()
        while True:
            try:
                await connection.call("GET", "/_matrix/client/versions")
                break
            except (ConnectionError, OSError):
                connection = Connection(port)
                if server.poll() is not None or time.monotonic() - begun > 120:
                    raise
                await asyncio.sleep(0.3)
        pairs = [Pair(number) for number in range(count)]
        for pair in pairs:
            await pair.meet(connection)
        print("ready", flush=True)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            words = line.split()
            if words[0] == "send":
                before = cpu_seconds([server.pid, database, *children(database)])
                done, took = await send_all(port, pairs, int(words[1]), int(words[2]), float(words[3]))
                used = cpu_seconds([server.pid, database, *children(database)]) - before
                print(done / took, used * 1e6 / done, flush=True)
            else:
                print(*await wake_all(port, pairs, int(words[1]), float(words[2]), float(words[3])), flush=True)
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


asyncio.run(main())
