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
source packaging/installing.sh

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

say() { printf 'webhooks: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The packages start servers of their own where there is a service manager; nobody here uses them.
mapfile -t missing < <(packages_without "${programs[@]}")
if [ "${1:-}" = rivals ] && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
    missing+=(postgresql)
fi
install_packages "${missing[@]}"
fetch_judges webhooks
