#!/usr/bin/env bash
# Fetches what mail is tried with, once for each machine, and prints the directory in which it lies: python/bin/python3 with
# a server of SMTP (aiosmtpd), a signer of mail (dkimpy) and a name server (dnslib). Everything is pinned. What cannot be
# had ends it with 1: there is nothing else that could judge.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

npm=()
pypi=(aiosmtpd==1.4.6 atpublic==7.0.0 attrs==26.1.0 dkimpy==1.1.8 dnslib==0.9.26 dnspython==2.8.0)

say() { printf 'mails: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

mapfile -t missing < <(packages_without python3-venv:python3 swaks:swaks)
install_packages "${missing[@]}"
fetch_judges mails
