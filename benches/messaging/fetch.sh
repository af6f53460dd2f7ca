#!/usr/bin/env bash
# Fetches what benches/messaging compares with, once for each machine, and prints the directory in which it lies:
# python/bin/python3 with Matrix Synapse. Everything is pinned.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

say() { printf 'messaging: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

npm=()
pypi=(matrix-synapse==1.163.2 psycopg2-binary==2.9.13 asyncpg==0.32.0)
mapfile -t missing < <(packages_without python3-venv:python3 redis-server:redis-server)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
install_packages "${missing[@]}"
fetch_judges messaging-rivals
