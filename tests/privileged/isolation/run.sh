#!/usr/bin/env bash
# Runs every attempt of a hostile tenant, and prints a table: whether it was held, the attempt, what held it. Needs root.
#
#   tests/privileged/isolation/run.sh STARTS          # on this machine
#   tests/privileged/isolation/run.sh STARTS --qemu   # on Debian's own kernel, with control groups of version 2
#
# With QUINTET_ISOLATION_ONLY, parts of the names of attacks with commas between, only those are tried and measured; of the
# attempts that are not measured all are tried.
#
# STARTS is how many of others' starts are measured beside each attack. For a while this takes the machine's processors, and
# sets where cores go and how many huge pages there are.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."
source packaging/environment.sh

starts=${1:?how many starts}
[ "$(id -u)" -eq 0 ] || { echo "isolation: containers need root" >&2; exit 1; }
tests=$(cargo test --locked --workspace --test privileged --no-run --message-format=json |
    jq -r 'select(.reason == "compiler-artifact" and .target.name == "privileged" and .executable) | .executable')
if [ "${2:-}" = --qemu ]; then
    exec tests/installed/run.sh --qemu --isolation "$tests" "$starts" "$(realpath -s "$(dirname "$tests")/../quintet")"
fi
# One after another, so that none is measured beside another's attack.
export QUINTET_ISOLATION=$starts
"$tests" isolation:: --skip containers:: --nocapture --test-threads=1
