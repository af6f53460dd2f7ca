#!/usr/bin/env bash
# Installs the Debian packages that are missing for a purpose, and only those. Run by root, or by a user with sudo.
#
#   packaging/prerequisites.sh             # to build and to run
#   packaging/prerequisites.sh deb         # to make the Debian package as well
#   packaging/prerequisites.sh advisories  # to ask the database of advisories as well
#   packaging/prerequisites.sh test        # to test as well, which takes them all
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/installing.sh"

# The C++ compiler and its static library (RocksDB), make, libclang (RocksDB's Rust bindings are made from its header),
# e2fsprogs (the disks of containers), curl and jq (what the demo prints, and the examples of the README and the manual).
packages=(g++ make libclang-dev e2fsprogs curl jq)
# python3 (puts the licences of what is linked together).
to_package=(python3)
# git (the database of advisories is a repository; tests make one of their own, and ask which files are kept).
to_ask=(git)
# strace (faults injected by tests), rsync (copies of running directories
# that tests make), hledger (reads what the ledger exports), python3-venv (the parsers that judge exported string files,
# tests/corpora/), busybox-static (what the containers of tests run), docker-registry (what tests pull images from), tj3
# and tzdata (what working hours are compared with), openssl (a client that encrypted listeners are tried with), systemd
# (judges the units; it is not started), unzip and libarchive-tools (bsdtar; both read releases), swaks and postfix (send mail
# here, and take it), age (seals what encrypted workspaces take).
to_test=(
    strace rsync hledger python3-venv busybox-static docker-registry tj3 tzdata openssl systemd
    unzip libarchive-tools swaks postfix age
)

say() { printf 'prerequisites: %s\n' "$*"; }
fail() { printf 'prerequisites: %s\n' "$*" >&2; exit 1; }

case "${1:-run}" in
run) ;;
deb) packages+=("${to_package[@]}") ;;
advisories) packages+=("${to_ask[@]}") ;;
test)
    packages+=("${to_package[@]}" "${to_ask[@]}" "${to_test[@]}")
    for component in cargo-fmt cargo-clippy; do
        command -v "$component" >/dev/null 2>&1 || say "$component is missing, and 'make test' needs it"
    done
    ;;
*) fail "run, deb, advisories or test, not $1" ;;
esac

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done

if ! command -v cargo >/dev/null 2>&1; then
    fail "cargo is not on the PATH. Install Rust (the version is in Cargo.toml, rust-version) and try again."
fi

if [ ${#missing[@]} -eq 0 ]; then
    say "nothing to install (${packages[*]})"
    exit 0
fi

install_packages "${missing[@]}"
# These bring services that listen at once; tests start their own, on the loopback.
for service in docker-registry postfix; do
    if [[ " ${missing[*]} " == *" $service "* ]] && [ -d /run/systemd/system ]; then
        as_root=()
        [ "$(id -u)" -eq 0 ] || as_root=(sudo)
        "${as_root[@]}" systemctl disable --quiet --now "$service"
    fi
done
say "installed ${missing[*]}"
