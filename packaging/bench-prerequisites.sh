#!/usr/bin/env bash
# Installs what the measurements compare with, and builds and tests do not need: PostgreSQL, crun, runc; and Postfix, which
# sends and takes mail beside ours.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/installing.sh"

say() { printf 'bench prerequisites: %s\n' "$*"; }
fail() { printf 'bench prerequisites: %s\n' "$*" >&2; exit 1; }

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ -x /usr/bin/crun ] || missing+=(crun)
[ -x /usr/sbin/runc ] || missing+=(runc)
[ -x /usr/sbin/smtp-source ] || missing+=(postfix)
# The first starts a server of its own, which the bench does not use.
install_packages "${missing[@]}"
