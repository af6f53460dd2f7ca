#!/usr/bin/env bash
# Asserts that a binary is static (no interpreter, no needed library) and runs: check-static.sh BINARY
# A binary that came out dynamic by accident links without complaint and crashes at its start; see storage/build.rs.
set -euo pipefail
binary=$1

fail() { printf '%s: %s\n' "$binary" "$*" >&2; exit 1; }

[ -x "$binary" ] || fail "no such program"
if readelf --program-headers --wide "$binary" | grep -q 'INTERP'; then
    fail "it asks for a dynamic loader"
fi
if readelf --dynamic --wide "$binary" | grep 'NEEDED'; then
    fail "it needs shared libraries"
fi
version=$("$binary" --version) || fail "it does not run: exit $?"

# Making a data directory opens the tables, so the C++ runs too, which the command line alone would not touch.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$binary" init --data "$scratch/data" >/dev/null || fail "it cannot make a data directory: exit $?"
printf '%s is static and runs: %s\n' "$binary" "$version"
