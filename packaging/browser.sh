#!/usr/bin/env bash
# Installs what the page of the diagrams is tested with: Debian's chromium and node, and from npm playwright-core, which
# drives the browser, and axe-core, which looks for what bars people who read with their ears or hands (both pinned, both
# for tests alone). The npm packages lie in the build's cache, outside the clone, and are fetched once.
#
#   packaging/browser.sh           # installs what is missing
#   packaging/browser.sh --where   # prints where the npm packages are, or fails if anything is missing
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh
source packaging/installing.sh

playwright_version=1.61.1 # the last that runs on Debian 12's Node.js 18
axe_version=4.14.1
top="$BUILD_CACHE/browser/playwright-core-$playwright_version-axe-core-$axe_version"
say() { printf 'browser: %s\n' "$*"; }
fail() { printf 'browser: %s\n' "$*" >&2; exit 1; }

mapfile -t missing < <(packages_without nodejs:node npm:npm chromium:chromium)

if [ "${1:-}" = --where ]; then
    [ ${#missing[@]} -eq 0 ] || fail "not installed: ${missing[*]}"
    [ -f "$top/complete" ] || fail "not installed: playwright-core"
    printf '%s\n' "$top"
    exit 0
fi

install_packages "${missing[@]}"
if [ ! -f "$top/complete" ]; then
    say "installing playwright-core $playwright_version and axe-core $axe_version"
    rm -rf "$top"
    mkdir -p "$top"
    # playwright-core brings no browser of its own.
    npm install --no-save --no-audit --no-fund --silent --prefix "$top" \
        "playwright-core@$playwright_version" "axe-core@$axe_version"
    touch "$top/complete"
fi
say "nothing to install"
