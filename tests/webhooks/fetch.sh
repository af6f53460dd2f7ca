#!/usr/bin/env bash
# Fetches what judges webhooks independently, once for each machine, and prints the directory in which it lies:
# python/bin/python3 and node_modules/, both with the verifiers of Standard Webhooks. Everything is pinned. What cannot be
# had ends it with 1: there is nothing else that could judge.
#
#   tests/webhooks/fetch.sh         # what tests need: the verifiers
#   tests/webhooks/fetch.sh rivals  # what benches/deliveries needs as well: BullMQ and PgQueuer, redis-server, PostgreSQL
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh

# A change of any of these makes another directory.
npm=(standardwebhooks@1.1.1)
pypi=(standardwebhooks==1.1.0)
programs=(nodejs:node npm:npm python3-venv:python3)
case "${1:-verifiers}" in
verifiers) ;;
rivals)
    # Both run on Debian 12's Node.js 18, and on older ones.
    npm+=(bullmq@6.7.0 ioredis@5.11.1)
    pypi+=(pgqueuer==1.6.0 asyncpg==0.32.0)
    programs+=(redis-server:redis-server)
    ;;
*)
    printf 'webhooks: verifiers or rivals, not %s\n' "$1" >&2
    exit 1
    ;;
esac

key=$(printf '%s\n' "${npm[@]}" "${pypi[@]}" | sha256sum | cut -c 1-16)
directory="$BUILD_CACHE/webhooks/$key"
say() { printf 'webhooks: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

mkdir -p "$BUILD_CACHE/webhooks"
exec 9>"$BUILD_CACHE/webhooks/lock"
flock 9

missing=()
for program in "${programs[@]}"; do
    command -v "${program#*:}" >/dev/null 2>&1 || missing+=("${program%:*}")
done
if [ "${1:-}" = rivals ] && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    missing+=(postgresql)
fi
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null 2>&1 || fail "install these yourself, there is no apt-get here: ${missing[*]}"
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    say "installing ${missing[*]}"
    # The packages start servers of their own where there is a service manager; nobody here uses them.
    install_missing() {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install --yes --quiet --quiet --no-install-recommends "${missing[@]}" >&2
    }
    install_missing || { "${as_root[@]}" apt-get update --quiet >&2 && install_missing; }
fi

if [ ! -e "$directory/complete" ]; then
    say "fetching ${npm[*]} ${pypi[*]} (once for each machine)"
    # A virtual environment knows its own path, so it is made where it stays.
    rm -rf "$directory"
    mkdir "$directory"
    npm install --no-save --no-audit --no-fund --silent --prefix "$directory" "${npm[@]}" >&2 ||
        fail "these cannot be had from npm: ${npm[*]}"
    python3 -m venv "$directory/python" >&2 || fail "python3-venv is missing"
    "$directory/python/bin/pip" install --quiet --disable-pip-version-check "${pypi[@]}" >&2 ||
        fail "these cannot be had from PyPI: ${pypi[*]}"
    touch "$directory/complete"
fi
printf '%s\n' "$directory"
