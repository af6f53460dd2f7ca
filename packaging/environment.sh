# shellcheck shell=bash
# Sourced, never run: where builds keep what they make, and with what they compile.
#
#   source packaging/environment.sh && cargo test -p quintet-ledger
#
# Everything lies outside the clone, so that a second clone, or a cleaned one, starts warm. No name begins with
# QUINTET_: such variables are settings of the product, and it refuses those it does not know.

quintet_top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

export BUILD_CACHE="${BUILD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quintet}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$BUILD_CACHE/target}"
export CCACHE_DIR="${CCACHE_DIR:-$BUILD_CACHE/ccache}"
export CC="${CC:-ccache gcc}"
export CXX="${CXX:-ccache g++}"

# RocksDB's C++ is compiled once by packaging/rocksdb.sh, and every profile, check and clippy links or skips that
# one archive. Its directory is named after all that shapes it: the crate, its features, the flags, the compiler.
quintet_rocksdb_key() {
    {
        grep -A 3 '^name = "librocksdb-sys"$' "$quintet_top/Cargo.lock"
        grep '^rocksdb = ' "$quintet_top/Cargo.toml"
        grep 'rustflags' "$quintet_top/.cargo/config.toml"
        # ${CXX##* } is the compiler itself, behind ccache.
        "${CXX##* }" --version | head -n 1
    } | sha256sum | cut -c 1-16
}
ROCKSDB_LIB_DIR="$BUILD_CACHE/rocksdb/$(quintet_rocksdb_key)"
export ROCKSDB_LIB_DIR ROCKSDB_STATIC=1
unset -f quintet_rocksdb_key
unset quintet_top
