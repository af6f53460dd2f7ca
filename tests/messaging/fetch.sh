#!/usr/bin/env bash
# Fetches the public client that judges messaging here, once for each machine, and prints the directory in which it lies:
# python/bin/agentbus and python/bin/agentbus-hook. Everything is pinned. What cannot be had ends it with 1: there is
# nothing else that could judge.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

npm=()
# The client, and what it asks for by lower bounds alone: a later release of these must not change what it sends.
pypi=(
    rodmena-agentbus==0.9.105
    bulkman==2.0.4 click==8.5.1 cryptography==50.0.2 httpx==0.28.1 resilient-circuit==0.8.6 rich==15.0.0 segno==1.6.6
)

say() { printf 'messaging: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

mapfile -t missing < <(packages_without python3-venv:python3)
install_packages "${missing[@]}"
fetch_judges messaging
