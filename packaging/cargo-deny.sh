#!/usr/bin/env bash
# Runs cargo-deny (deny.toml) over licences, bans and sources, or as it is told; first installs the pinned version outside
# the clone.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh

version=0.20.2
root="$BUILD_CACHE/tools/cargo-deny-$version"

if [ ! -x "$root/bin/cargo-deny" ]; then
    echo "cargo-deny: installing version $version into $root (about a minute on two cores, once for each machine)"
    # Unoptimized: it is faster built than it would ever pay back.
    # From outside the clone, whose Cargo configuration is for the product.
    mkdir -p "$root"
    (
        cd "$root"
        env -u ROCKSDB_LIB_DIR -u ROCKSDB_STATIC CARGO_TARGET_DIR="$root/building" \
            CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_INCREMENTAL=false \
            cargo install cargo-deny --version "=$version" --locked --debug --no-default-features --root "$root"
    )
    rm -rf "$root/building"
fi

[ $# -gt 0 ] || set -- --locked --all-features check licenses bans sources
exec "$root/bin/cargo-deny" "$@"
