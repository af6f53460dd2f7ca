#!/usr/bin/env bash
# Fetches what schemas of rooms are tested with, once for each machine, and prints the directory in which it lies: Python's
# jsonschema in python/bin/python3, and the official suite, which its sources bring, in suite/. What cannot be had ends it
# with 1.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

npm=()
# The second and what follows is what the first asks for by lower bounds.
pypi=(jsonschema==4.26.0 attrs==26.1.0 jsonschema-specifications==2025.9.1 referencing==0.37.0 rpds-py==2026.9.1
    typing_extensions==4.16.0)

say() { printf 'schemas: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

mapfile -t missing < <(packages_without python3-venv:python3)
install_packages "${missing[@]}"
directory=$(fetch_judges schemas)

exec 9>"$BUILD_CACHE/schemas/lock"
flock 9
if [ ! -e "$directory/suite" ]; then
    work=$(mktemp -d "$directory/making.XXXXXX")
    trap 'rm -rf -- "$work"' EXIT
    # The suite is in the sources alone, not in what is installed.
    "$directory/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary jsonschema \
        --dest "$work" "${pypi[0]}" >&2 || fail "the sources of ${pypi[0]} cannot be had"
    tar --extract --gzip --file "$work"/jsonschema-*.tar.gz --directory "$work"
    mv "$work"/jsonschema-*/json "$directory/suite"
fi
printf '%s\n' "$directory"
