#!/usr/bin/env bash
# Fetches the identity providers that people sign in with in tests, once for each machine, and prints the directory in which
# they lie: node_modules/ and python/bin/python3. Two of different makes, pinned. What cannot be had ends it with 1: a
# provider of our own would only say what we have understood.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

# The last that runs on Debian 12's Node.js 18; 9 needs 20.
npm=(oidc-provider@8.8.1)
pypi=(oidc-provider-mock==0.3.4)

say() { printf 'identity: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

mapfile -t missing < <(packages_without nodejs:node npm:npm python3-venv:python3)
install_packages "${missing[@]}"
fetch_judges identity
