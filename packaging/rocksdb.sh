#!/usr/bin/env bash
# Compiles RocksDB's C++ into one archive outside the clone, unless it is there already (see environment.sh).
# Every profile links that archive, and check and clippy need no C++ at all.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh

archive="$ROCKSDB_LIB_DIR/librocksdb.a"
if [ -f "$archive" ]; then
    exit 0
fi

say() { printf 'rocksdb: %s\n' "$*"; }
say "compiling RocksDB's C++: 10 to 15 minutes on two cores, once for each machine and version."
say "the archive goes to $ROCKSDB_LIB_DIR"

# A place of its own, thrown away afterwards. Interrupted, it starts again, but ccache has what was compiled.
work="$BUILD_CACHE/rocksdb/building"
mkdir -p "$work" "$ROCKSDB_LIB_DIR"
exec 9>"$work/lock"
flock --nonblock 9 || { say "another build is at it; waiting"; flock 9; }
if [ -f "$archive" ]; then
    exit 0
fi

started=$SECONDS
(
    while sleep 30; do
        count=$(find "$work/target" -name '*.o' -path '*librocksdb-sys*' 2>/dev/null | wc -l)
        say "$((SECONDS - started)) s, $count of about 330 files"
    done
) 9>&- &
ticker=$!
trap 'kill "$ticker" 2>/dev/null || true' EXIT

env -u ROCKSDB_LIB_DIR -u ROCKSDB_STATIC CARGO_TARGET_DIR="$work/target" \
    cargo build --locked --release --package librocksdb-sys

built=$(find "$work/target" -name librocksdb.a -path '*librocksdb-sys*' | head -n 1)
[ -n "$built" ] || { say "cargo built no librocksdb.a" >&2; exit 1; }
cp "$built" "$archive.new"
mv "$archive.new" "$archive"
rm -rf "$work/target"
say "done in $((SECONDS - started)) s"
