#!/usr/bin/env bash
# Makes assets/locales/ anew from the pinned packages; with --check, says whether what lies there is what they make.
# Needs node and npm, which building and testing do not.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=packaging/environment.sh
source packaging/environment.sh

say() { printf 'locale tables: %s\n' "$*"; }

command -v npm >/dev/null 2>&1 || { say "npm is missing: apt-get install nodejs npm"; exit 1; }

# One directory for each set of pins, so that nothing is fetched twice.
pins=packaging/locale-tables
sources="$BUILD_CACHE/locale-tables/$(sha256sum "$pins/package-lock.json" | cut -c 1-16)"
if [ ! -e "$sources/complete" ]; then
    say "fetching the pinned packages"
    mkdir -p "$sources"
    cp "$pins/package.json" "$pins/package-lock.json" "$sources"
    (cd "$sources" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    touch "$sources/complete"
fi

case "${1:-}" in
"")
    node "$pins/build.mjs" "$sources" assets/locales
    say "assets/locales is made"
    ;;
--check)
    made=$(mktemp --directory)
    trap 'rm -rf -- "$made"' EXIT
    node "$pins/build.mjs" "$sources" "$made"
    diff --recursive --brief --exclude README.md "$made" assets/locales || { say "assets/locales is not what the packages make"; exit 1; }
    say "assets/locales is what the packages make"
    ;;
*)
    say "usage: packaging/locale-tables.sh [--check]"
    exit 2
    ;;
esac
