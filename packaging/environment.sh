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
export CC="${CC:-gcc}"
export CXX="${CXX:-g++}"

# RocksDB's C++ is compiled once by packaging/rocksdb.sh, and every profile, check and clippy links or skips that
# one archive. Its directory is named after all that shapes it: the crates, how they are compiled, the compiler.
quintet_rocksdb_key() {
    {
        grep -E -A 3 '^name = "(librocksdb|lz4|zstd)-sys"$' "$quintet_top/Cargo.lock"
        # Its flags and units; what it says and how it is explained changes no archive.
        grep -E -v '^ *(#|say |$)' "$quintet_top/packaging/rocksdb.sh"
        # ${CXX##* } is the compiler itself, behind ccache and the like.
        "${CXX##* }" --version | head -n 1
    } | sha256sum | cut -c 1-16
}
ROCKSDB_LIB_DIR="$BUILD_CACHE/rocksdb/$(quintet_rocksdb_key)"
export ROCKSDB_LIB_DIR ROCKSDB_STATIC=1
unset -f quintet_rocksdb_key
unset quintet_top
