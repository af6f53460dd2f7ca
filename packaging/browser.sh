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

playwright_version=1.61.1 # the last that runs on Debian 12's Node.js 18
axe_version=4.14.1
top="$BUILD_CACHE/browser/playwright-core-$playwright_version-axe-core-$axe_version"
say() { printf 'browser: %s\n' "$*"; }
fail() { printf 'browser: %s\n' "$*" >&2; exit 1; }

missing=()
command -v node >/dev/null 2>&1 || missing+=(nodejs)
command -v npm >/dev/null 2>&1 || missing+=(npm)
command -v chromium >/dev/null 2>&1 || missing+=(chromium)

if [ "${1:-}" = --where ]; then
    [ ${#missing[@]} -eq 0 ] || fail "not installed: ${missing[*]}"
    [ -f "$top/complete" ] || fail "not installed: playwright-core"
    printf '%s\n' "$top"
    exit 0
fi

if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null 2>&1 || fail "install these yourself, there is no apt-get here: ${missing[*]}"
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    say "installing ${missing[*]}"
    install_missing() {
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install --yes --quiet --quiet --no-install-recommends "${missing[@]}"
    }
    install_missing || { "${as_root[@]}" apt-get update --quiet && install_missing; }
fi
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
