"""A server of SMTP that does what its argument says, and writes what it takes as JSON, a mail a line.

fine: takes all. refuse: says 550 to addresses that begin with `no`. greylist: says 450 to each address once. slow: waits a
moment before each reply. cut: closes the first connection when a mail has come. The first line is its port.
"""

import asyncio
import email
import json
import sys
from email import policy

from aiosmtpd.smtp import SMTP

mode = sys.argv[1]
seen = set()
cut = False


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if mode == "slow":
            await asyncio.sleep(0.3)
        if mode == "refuse" and address.startswith("no"):
            return "550 5.1.1 there is no such user"
        if mode == "greylist" and address not in seen:
            seen.add(address)
            return "450 4.2.0 greylisted, come back"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(self, server, session, envelope):
        global cut
        message = email.message_from_bytes(envelope.content, policy=policy.default)
        print(
            json.dumps(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "id": message["message-id"],
                    "subject": message["subject"],
                    "answers": message["in-reply-to"],
                    "automatic": message["auto-submitted"],
                    "text": message.get_body().get_content(),
                    "files": [part.get_filename() for part in message.iter_attachments()],
                    "raw": envelope.content.decode("latin-1"),
                }
            ),
            flush=True,
        )
        if mode == "slow":
            await asyncio.sleep(0.3)
        if mode == "cut" and not cut:
            cut = True
            server.transport.abort()
        return "250 2.0.0 taken"


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Handler(), hostname="relay.example"), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
