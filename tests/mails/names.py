"""A name server: its arguments are records `NAME TYPE VALUE`; of all other names there is nothing. `silent` as the only one:
it answers that it cannot. The first line is its port."""

import sys
import threading

from dnslib import MX, QTYPE, RCODE, RR, TXT
from dnslib.server import DNSLogger, DNSServer

records = {}
for record in sys.argv[1:]:
    if record == "silent":
        continue
    name, kind, value = record.split(" ", 2)
    data = TXT([value[at : at + 250] for at in range(0, len(value), 250)]) if kind == "TXT" else MX(value, 10)
    records.setdefault((name.lower(), kind), []).append(data)
is_silent = "silent" in sys.argv[1:]


class Resolver:
    def resolve(self, request, handler):
        reply = request.reply()
        name = str(request.q.qname).rstrip(".").lower()
        kind = QTYPE[request.q.qtype]
        if is_silent:
            reply.header.rcode = RCODE.SERVFAIL
            return reply
        found = records.get((name, kind), [])
        for data in found:
            reply.add_answer(RR(request.q.qname, request.q.qtype, rdata=data, ttl=60))
        if not any(known == name for known, _ in records):
            reply.header.rcode = RCODE.NXDOMAIN
        return reply


# Nobody reads more than the first line.
quiet = DNSLogger("-recv,-send,-request,-reply,-truncated,-error,-data")
while True:
    server = DNSServer(Resolver(), port=0, address="127.0.0.1", logger=quiet)
    port = server.server.socket.getsockname()[1]
    try:
        tcp = DNSServer(Resolver(), port=port, address="127.0.0.1", tcp=True, logger=quiet)
        break
    except OSError:
        # Somebody has that port for connections.
        server.server.server_close()
server.start_thread()
tcp.start_thread()
print(port, flush=True)
threading.Event().wait()
