#!/usr/bin/env bash
# Installs what the measurements compare with, and builds and tests do not need: PostgreSQL.
set -euo pipefail

say() { printf 'bench prerequisites: %s\n' "$*"; }

if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    say "nothing to install (postgresql)"
    exit 0
fi
command -v apt-get >/dev/null 2>&1 || { say "there is no apt-get here: install PostgreSQL yourself"; exit 1; }
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
say "installing postgresql"
# The package starts a server of its own, which the bench does not use.
install_it() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends postgresql; }
install_it || { "${as_root[@]}" apt-get update --quiet && install_it; }
