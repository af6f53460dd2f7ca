#!/usr/bin/env bash
# Compiles RocksDB's C++ into one archive outside the clone, unless it is there already (see environment.sh).
# Every profile links that archive, and check and clippy need no C++ at all.
#
# The sources are those of the crate librocksdb-sys, which cargo has checked against Cargo.lock, and the list of them and
# the flags are the crate's own. Only the way differs: the crate compiles some 340 files one by one, and each reads
# the same headers again; here they are included into a few large units, as RocksDB's own `make unity_test` includes all
# of them into one. Without this script (no ROCKSDB_LIB_DIR) cargo builds the crate's way, which is the same, but slower.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh

archive="$ROCKSDB_LIB_DIR/librocksdb.a"
if [ -f "$archive" ]; then
    exit 0
fi

# Of the crate's build.rs that the flags below were read from. A newer one is compared with them first.
known_build_rs=2dbb97b102a2c13f0192ee75a49d4fc0f84fa0692ac9ffc84d364a7a28b472a3
# Sources of one unit. More makes fewer units, but a unit of this size takes the compiler 1.5 GB of memory already.
unit_bytes=1000000
unit_memory_kib=$((1600 * 1024))

# What no function of RocksDB's C interface leads to. A file too many is missed when anything is linked.
left_out='^(tools|test_util/transaction_test_util|db/db_impl/db_impl_follower|env/fs_on_demand)'
left_out+='|^utilities/(agg_merge|blob_db|cache_dump|cassandra|convenience|debug|env_mirror|fault_injection|leveldb)'
left_out+='|^utilities/(option_change|persistent_cache|secondary_index|simulator_cache|sorted_run|types_util)'

say() { printf 'rocksdb: %s\n' "$*"; }
fail() { printf 'rocksdb: %s\n' "$*" >&2; exit 1; }

say "compiling RocksDB's C++: some four minutes on two cores, once for each machine and version."
say "the archive goes to $ROCKSDB_LIB_DIR"

# What is compiled lies beside the archive until that is complete. Interrupted, the next start takes up finished units.
work="$ROCKSDB_LIB_DIR/building"
mkdir -p "$work"
exec 9>"$ROCKSDB_LIB_DIR/lock"
flock --nonblock 9 || { say "another build is at it; waiting"; flock 9; }
if [ -f "$archive" ]; then
    exit 0
fi

metadata=$(cargo metadata --locked --format-version 1 --filter-platform x86_64-unknown-linux-gnu)
sources_of() {
    local manifest
    manifest=$(grep -o "\"manifest_path\":\"[^\"]*/$1[^\"/]*/Cargo.toml\"" <<<"$metadata" | cut -d '"' -f 4)
    [ -f "$manifest" ] || fail "cargo has no sources of $1"
    dirname -- "$manifest"
}
crate=$(sources_of librocksdb-sys)
lz4=$(sources_of lz4-sys)
zstd=$(sources_of zstd-sys)

sha256sum --quiet --check <<<"$known_build_rs  $crate/build.rs" ||
    fail "compare the flags in packaging/rocksdb.sh with $crate/build.rs, then note its digest there"

# -m64 to -fPIC are what the crate `cc` adds for this target, optimized.
flags=(
    -O3 -ffunction-sections -fdata-sections -fPIC -m64 -march=x86-64 -msse2 -std=c++20 -include cstdint -w
    -I "$crate/rocksdb/include" -I "$crate/rocksdb" -I "$crate" -I "$lz4/liblz4/lib" -I "$zstd/zstd/lib"
    -DLZ4=1 -DZSTD=1 -DNDEBUG=1 -DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION -DOS_LINUX -DROCKSDB_PLATFORM_POSIX
    -DROCKSDB_LIB_IO_POSIX -DROCKSDB_SCHED_GETCPU_PRESENT -DROCKSDB_AUXV_GETAUXVAL_PRESENT
    -DROCKSDB_FALLOCATE_PRESENT -DROCKSDB_RANGESYNC_PRESENT
)

write_units() {
    local file path bytes filled=$unit_bytes count=0 unit
    rm -f "$work"/unit-*.cc
    while read -r file; do
        path="$crate/rocksdb/$file"
        # The crate brings this one ready-made, outside RocksDB's own directory.
        [ "$file" != util/build_version.cc ] || path="$crate/build_version.cc"
        bytes=$(stat --format %s -- "$path")
        if ((filled + bytes > unit_bytes)); then
            count=$((count + 1)) filled=0
            unit=$(printf '%s/unit-%02d.cc' "$work" "$count")
        fi
        filled=$((filled + bytes))
        printf '#include "%s"\n' "$path" >>"$unit"
    done < <(grep -E -v "$left_out" "$crate/rocksdb_lib_sources.txt")
}

# compile UNIT.cc FLAG...: its object gets its name when it is complete, and then is never compiled again.
compile() {
    local object="${1%.cc}.o"
    [ -f "$object" ] && return
    # CXX may be two words, such as `ccache g++`.
    # shellcheck disable=SC2086
    $CXX "${@:2}" -c "$1" -o "$object.new" && mv -- "$object.new" "$object"
}
export -f compile
export CXX

write_units
units=("$work"/unit-*.cc)
available_kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
jobs=${CARGO_BUILD_JOBS:-$(nproc)}
((jobs * unit_memory_kib <= available_kib)) || jobs=$((available_kib / unit_memory_kib))
((jobs > 0)) || jobs=1

started=$SECONDS
(
    while sleep 30; do
        finished=$(find "$work" -name 'unit-*.o' | wc -l)
        say "$((SECONDS - started)) s, $finished of ${#units[@]} units"
    done
) 9>&- &
ticker=$!
trap 'kill "$ticker" 2>/dev/null || true' EXIT

printf '%s\0' "${units[@]}" |
    xargs --null --max-procs "$jobs" --replace bash -c 'compile "$@" || exit 255' compile {} "${flags[@]}" ||
    fail "a unit does not compile; what the compiler said stands above"

ar rcsD "$work/librocksdb.a" "${units[@]/%.cc/.o}"
mv -- "$work/librocksdb.a" "$archive"
rm -rf "$work"
say "done in $((SECONDS - started)) s"
