"""Signs the mail on standard input (DKIM) for the domain and the selector that its arguments name, with the key in a file
(PEM), and writes it."""

import sys

import dkim

domain, selector, key = sys.argv[1:]
mail = sys.stdin.buffer.read()
with open(key, "rb") as file:
    signature = dkim.sign(mail, selector.encode(), domain.encode(), file.read(), include_headers=[b"from", b"subject"])
sys.stdout.buffer.write(signature + mail)
