#!/usr/bin/env bash
# Fetches what benches/workflows compares with, once for each machine, and prints the directory in which it lies:
# python/bin/python3 and node_modules/, with DBOS and Restate. Everything is pinned.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

say() { printf 'workflows: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

npm=(@restatedev/restate-server@1.7.12)
pypi=(dbos==3.4.0 psycopg-binary==3.3.9 restate_sdk==1.3.0 hypercorn==0.18.0)
mapfile -t missing < <(packages_without nodejs:node npm:npm python3-venv:python3 curl:curl)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
install_packages "${missing[@]}"
fetch_judges workflows
