#!/usr/bin/env bash
# Makes the Debian package of a built binary, and prints where it lies: deb.sh BINARY [DIRECTORY]
#
# The files are put together by install.sh, in the place that Cargo.toml names (package.metadata.deb); cargo-deb, pinned
# and kept outside the clone, packs them.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh

binary=$(realpath -- "${1:?the binary}")
directory=$(realpath -- "${2:-$(dirname -- "$binary")}")
version=3.8.0
tool="$BUILD_CACHE/tools/cargo-deb-$version"

if [ ! -x "$tool/bin/cargo-deb" ]; then
    echo "cargo-deb: installing version $version into $tool (some two minutes on two cores, once for each machine)" >&2
    mkdir -p "$tool"
    (
        cd "$tool"
        env -u ROCKSDB_LIB_DIR -u ROCKSDB_STATIC CARGO_TARGET_DIR="$tool/building" \
            CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_INCREMENTAL=false \
            cargo install cargo-deb --version "=$version" --locked --debug --no-default-features --root "$tool" >&2
    )
    rm -rf "$tool/building"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo tree --locked --edges normal --prefix none --format '{p}' --package quintet |
    sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1 \2/p' | sort -u >"$work/linked"
cargo metadata --locked --format-version 1 | python3 packaging/third-party.py "$work/linked" >"$work/third-party"

# What cargo-deb calls target/release, whatever profile the binary is of.
target="$work/target"
staged="$target/x86_64-unknown-linux-gnu/release/debian"
mkdir -p "$staged"
strip --strip-debug --output-file="$work/quintet" "$binary"
THIRD_PARTY="$work/third-party" packaging/install.sh "$work/quintet" "$staged" /usr
# cargo-deb expects what it takes for a build's output where a build puts it.
CARGO_TARGET_DIR="$target" "$tool/bin/cargo-deb" deb --locked --no-build --no-strip --fast --quiet \
    --target x86_64-unknown-linux-gnu --output "$directory/" >/dev/null
find "$directory" -maxdepth 1 -name 'quintet_*_amd64.deb' -newer "$work/linked" -print
