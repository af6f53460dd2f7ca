#!/usr/bin/env bash
# Fetches the clients that judge the Model Context Protocol here, once for each machine, and prints the directory in which they
# lie: python/bin/python3 and node_modules/. Everything is pinned. What cannot be had ends it with 1: there is nothing else
# that could judge.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

# The first speaks versions with a handshake and those without.
pypi=(mcp==2.3.0)
npm=(@modelcontextprotocol/sdk@1.32.2)

say() { printf 'mcp: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

mapfile -t missing < <(packages_without nodejs:node npm:npm python3-venv:python3)
install_packages "${missing[@]}"
fetch_judges mcp
