#!/usr/bin/env bash
# Installs what the measurements compare with, and builds and tests do not need: PostgreSQL, crun, runc.
set -euo pipefail

say() { printf 'bench prerequisites: %s\n' "$*"; }

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ -x /usr/bin/crun ] || missing+=(crun)
[ -x /usr/sbin/runc ] || missing+=(runc)
if [ ${#missing[@]} -eq 0 ]; then
    say "nothing to install (postgresql crun runc)"
    exit 0
fi
command -v apt-get >/dev/null 2>&1 || { say "there is no apt-get here: install these yourself: ${missing[*]}"; exit 1; }
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
say "installing ${missing[*]}"
# The package starts a server of its own, which the bench does not use.
install_it() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "${missing[@]}"; }
install_it || { "${as_root[@]}" apt-get update --quiet && install_it; }
