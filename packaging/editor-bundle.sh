#!/usr/bin/env bash
# Makes assets/diagrams/editor.js, the one script with the editor of the diagrams' page, from assets/diagrams/editor/ and
# pinned npm packages. The bundle is kept in the repository, its digest and the packages' licences beside it: neither
# builds nor browsers fetch anything. Run this after a change to the editor or its packages.
#
#   packaging/editor-bundle.sh           # makes the bundle
#   packaging/editor-bundle.sh --check   # makes it elsewhere, and compares
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh

say() { printf 'editor bundle: %s\n' "$*"; }
fail() { printf 'editor bundle: %s\n' "$*" >&2; exit 1; }

command -v npm >/dev/null 2>&1 || fail "npm is needed (Debian: apt-get install npm)"
from=assets/diagrams/editor
key=$(sha256sum "$from/package.json" "$from/package-lock.json" | sha256sum | cut -c 1-16)
work="$BUILD_CACHE/editor/$key"
if [ ! -f "$work/complete" ]; then
    say "installing the packages"
    rm -rf "$work"
    mkdir -p "$work"
    cp "$from/package.json" "$from/package-lock.json" "$work"
    # The lock names versions and digests, and no place to fetch them from.
    (cd "$work" && npm ci --no-audit --no-fund --silent --omit-lockfile-registry-resolved)
    touch "$work/complete"
fi

cp "$from/editor.js" "$work/entry.js"
made="$work/editor.js"
(cd "$work" && node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=DiagramEditor --target=es2022 \
    --legal-comments=none --charset=ascii --log-level=warning \
    --banner:js='/* CodeMirror 6 and a mode for DOT; licences in editor/LICENSES.txt */' --outfile=editor.js --metafile=meta.json)

# The licences of exactly what is in the bundle.
licences="$work/LICENSES.txt"
(cd "$work" && node --eval '
    const fs = require("fs");
    const inputs = Object.keys(JSON.parse(fs.readFileSync("meta.json")).inputs);
    const names = new Set(inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
    const parts = [...names].sort().map((name) => {
        const { version, license } = JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`));
        return `${name} ${version} (${license})\n\n${fs.readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
    });
    fs.writeFileSync("LICENSES.txt", "The packages in ../editor.js, and their licences.\n\n" + parts.join("\n----\n\n"));
')

if [ "${1:-}" = --check ]; then
    cmp "$made" assets/diagrams/editor.js || fail "assets/diagrams/editor.js is not what its sources make"
    cmp "$licences" "$from/LICENSES.txt" || fail "$from/LICENSES.txt is not what its sources make"
    say "the bundle is what its sources make"
    exit 0
fi
cp "$made" assets/diagrams/editor.js
cp "$licences" "$from/LICENSES.txt"
(cd assets/diagrams && sha256sum editor.js >editor/editor.js.sha256)
say "assets/diagrams/editor.js: $(stat --format %s assets/diagrams/editor.js) bytes"
