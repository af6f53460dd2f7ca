# shellcheck shell=bash
# Sourced, never run: how scripts install what is missing. Whoever sources it has a `say` and a `fail`.

# Those of these Debian packages whose programs are not there: PACKAGE:PROGRAM…
packages_without() {
    local pair
    for pair in "$@"; do
        command -v "${pair#*:}" >/dev/null 2>&1 || printf '%s\n' "${pair%:*}"
    done
}

# Installs these Debian packages, as root or by sudo; nothing if none is named. What a script prints for others to read
# is not mixed with what apt-get says.
install_packages() {
    [ $# -gt 0 ] || return 0
    command -v apt-get >/dev/null 2>&1 || fail "install these yourself, there is no apt-get here: $*"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || fail "run this as root, or install sudo; missing: $*"
        as_root=(sudo)
    fi
    say "installing $*"
    local install=(
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install --yes --quiet --quiet --no-install-recommends "$@"
    )
    # Package lists that are missing or old make the first attempt fail; then they are fetched, and it is tried once more.
    if ! "${install[@]}" >&2; then
        say "that failed; fetching fresh package lists and trying once more"
        "${as_root[@]}" apt-get update --quiet >&2 || fail "apt-get update failed; is the network there?"
        "${install[@]}" >&2 || fail "could not install $*"
    fi
}

# Fetches pinned packages of npm and PyPI once for each machine, and prints the directory in which they lie:
# python/bin/python3 and node_modules/. A change of any of them makes another directory. npm may be empty: `npm=()`.
#
#   npm=(…) pypi=(…); fetch_judges NAME
fetch_judges() {
    local name=$1 key directory
    key=$(printf '%s\n' "${npm[@]}" "${pypi[@]}" | sha256sum | cut -c 1-16)
    directory="$BUILD_CACHE/$name/$key"
    mkdir -p "$BUILD_CACHE/$name"
    exec 9>"$BUILD_CACHE/$name/lock"
    flock 9
    if [ ! -e "$directory/complete" ]; then
        local packages=("${npm[@]}" "${pypi[@]}")
        say "fetching ${packages[*]} (once for each machine)"
        # A virtual environment knows its own path, so it is made where it stays.
        rm -rf "$directory"
        mkdir "$directory"
        if [ ${#npm[@]} -gt 0 ]; then
            npm install --no-save --no-audit --no-fund --silent --prefix "$directory" "${npm[@]}" >&2 ||
                fail "these cannot be had from npm: ${npm[*]}"
        fi
        python3 -m venv "$directory/python" >&2 || fail "python3-venv is missing"
        "$directory/python/bin/pip" install --quiet --disable-pip-version-check "${pypi[@]}" >&2 ||
            fail "these cannot be had from PyPI: ${pypi[*]}"
        touch "$directory/complete"
    fi
    exec 9>&-
    printf '%s\n' "$directory"
}
