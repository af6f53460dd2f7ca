#!/usr/bin/env bash
# Puts everything in its place: the binary, the units, users and directories for systemd, the configuration, completions,
# manual pages, documents. `make install` calls it, and so does what makes the Debian package, with a place of its own.
#
#   packaging/install.sh BINARY [DESTDIR [PREFIX]]
#
# An existing /etc/quintet/quintet.toml stays as it is.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

binary=${1:?the binary}
root=${2:-}
prefix=${3:-/usr/local}
fail() { printf 'install: %s\n' "$*" >&2; exit 1; }
[ -x "$binary" ] || fail "$binary: no such program; make it with 'make release'"
[[ "$prefix" == /* ]] || fail "the prefix must be an absolute path: $prefix"

put() { # mode, source, destination
    install -D --mode "$1" -- "$2" "$root$3"
}

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$binary" docs --completions "$made/completions" --man "$made/man" >/dev/null

put 755 "$binary" "$prefix/bin/quintet"
for unit in quintet quintet-runner quintet-containers quintet-follow; do
    sed "s|/usr/bin/quintet|$prefix/bin/quintet|" "systemd/$unit.service" >"$made/$unit.service"
    put 644 "$made/$unit.service" "$prefix/lib/systemd/system/$unit.service"
done
put 644 systemd/quintet.sysusers.conf "$prefix/lib/sysusers.d/quintet.conf"
put 644 systemd/quintet.tmpfiles.conf "$prefix/lib/tmpfiles.d/quintet.conf"
[ -e "$root/etc/quintet/quintet.toml" ] || put 644 packaging/quintet.toml /etc/quintet/quintet.toml

zsh=site-functions
[ "$prefix" != /usr ] || zsh=vendor-completions
put 644 "$made/completions/quintet.bash" "$prefix/share/bash-completion/completions/quintet"
put 644 "$made/completions/_quintet" "$prefix/share/zsh/$zsh/_quintet"
put 644 "$made/completions/quintet.fish" "$prefix/share/fish/vendor_completions.d/quintet.fish"
for page in "$made"/man/*; do
    gzip --best --no-name "$page"
    put 644 "$page.gz" "$prefix/share/man/man${page##*.}/${page##*/}.gz"
done
put 644 README.md "$prefix/share/doc/quintet/README.md"
put 644 packaging/debian/copyright "$prefix/share/doc/quintet/copyright"
gzip --best --no-name --stdout packaging/debian/changelog >"$made/changelog.gz"
put 644 "$made/changelog.gz" "$prefix/share/doc/quintet/changelog.Debian.gz"
if [ -n "${THIRD_PARTY:-}" ]; then
    gzip --best --no-name --stdout "$THIRD_PARTY" >"$made/third-party.gz"
    put 644 "$made/third-party.gz" "$prefix/share/doc/quintet/third-party.gz"
fi

[ -z "$root" ] || exit 0
if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers "$prefix/lib/sysusers.d/quintet.conf"
    systemd-tmpfiles --create "$prefix/lib/tmpfiles.d/quintet.conf"
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    echo "Installed. Start it: systemctl enable --now quintet-containers quintet-runner quintet"
else
    echo 'Installed. There is no systemd here; `quintet manual install` says how to start it by hand.'
fi
