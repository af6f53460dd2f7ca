#!/usr/bin/env bash
# Installs the Debian package where it is meant to be installed, and uses it: a Debian root made by debootstrap, with
# systemd and Debian's kernel, booted in qemu. guest.sh says what is tried. Nothing of the machine this runs on is changed.
#
#   tests/installed/run.sh BINARY                 # makes the root if need be, some two minutes, once for each machine
#   tests/installed/run.sh --if-prepared BINARY   # or says what is missing and ends well
#
# The units' sandboxing is systemd's own there, the control groups are of version 2 and systemd's as well. qemu emulates,
# so that no machine needs more than its processor; that makes the trial slow, and measurements worthless.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh

say() { printf 'installed: %s\n' "$*"; }
fail() { printf 'installed: %s\n' "$*" >&2; exit 1; }

if_prepared=false
if [ "${1:-}" = --if-prepared ]; then
    if_prepared=true
    shift
fi
binary=$(realpath -- "${1:?the binary}")
suite=bookworm
# What the trial needs besides Debian's smallest system, which is what an operator's machine has at least.
guest_packages=systemd,systemd-sysv,dbus,kmod,linux-image-cloud-amd64,initramfs-tools,e2fsprogs,ca-certificates,curl,jq
host_packages=(debootstrap qemu-system-x86 e2fsprogs busybox-static)
top="$BUILD_CACHE/debian/$suite-$(printf '%s' "$suite $guest_packages" | sha256sum | cut -c 1-12)"

missing=()
for package in "${host_packages[@]}"; do
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] ||
        missing+=("$package")
done
if $if_prepared; then
    if [ ${#missing[@]} -gt 0 ] || [ ! -e "$top/complete" ] || [ "$(id -u)" -ne 0 ]; then
        say "skipped: make test-installed, as root, has not been run on this machine (${missing[*]:-no Debian root})"
        exit 0
    fi
fi
[ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    install_missing() {
        env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends "${missing[@]}"
    }
    install_missing || { apt-get update --quiet && install_missing; }
fi

if [ ! -e "$top/complete" ]; then
    say "making a Debian root in $top"
    # From where this machine's own packages come.
    mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="$suite" '$2 == suite && $3 == "main" {print $1; exit}')
    [ -n "$mirror" ] || fail "this machine has no package source for Debian $suite"
    rm -rf "$top"
    mkdir -p "$top"
    debootstrap --variant=minbase --include="$guest_packages" "$suite" "$top/root" "$mirror" >"$top/log" 2>&1 ||
        fail "debootstrap failed: $top/log"
    rm -rf "$top"/root/var/cache/apt/archives/*.deb "$top"/root/var/lib/apt/lists/*
    printf 'quintet-trial\n' >"$top/root/etc/hostname"
    cat >"$top/root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
Description=The trial of the package
After=multi-user.target
[Service]
Type=oneshot
ExecStartPre=/usr/bin/mkdir -p /trial
ExecStartPre=/usr/bin/mount -o ro /dev/vdb /trial
ExecStart=/bin/bash /trial/guest.sh
ExecStopPost=/usr/bin/systemctl poweroff --force --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
UNIT
    mkdir -p "$top/root/etc/systemd/system/multi-user.target.wants"
    ln -s /etc/systemd/system/trial.service "$top/root/etc/systemd/system/multi-user.target.wants/trial.service"
    touch "$top/complete"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/payload"
say "making the package"
deb=$(packaging/deb.sh "$binary" "$work")
mv "$deb" "$work/payload/first.deb"
# The next version: the same, with another number in its control file. What is in it is not packed again.
(
    cd "$work"
    dpkg-deb --control payload/first.deb control
    sed -i 's/^Version: .*/&.1/' control/control
    tar --create --gzip --file control.tar.gz --owner 0 --group 0 --directory control .
    data=$(ar t payload/first.deb | grep '^data\.tar')
    ar x payload/first.deb debian-binary "$data"
    ar rc payload/second.deb debian-binary control.tar.gz "$data"
    rm "$data"
)

# An image as `docker save` writes it, with busybox in it.
mkdir -p "$work/layer/bin" "$work/image"
cp /bin/busybox "$work/layer/bin/busybox"
for name in sh sleep echo cat id; do ln "$work/layer/bin/busybox" "$work/layer/bin/$name"; done
tar --create --file "$work/image/layer.tar" --directory "$work/layer" bin
diff_id=$(sha256sum "$work/image/layer.tar" | cut -d ' ' -f 1)
printf '{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$diff_id" >"$work/image/config.json"
printf '[{"Config":"config.json","RepoTags":["busybox:1"],"Layers":["layer.tar"]}]' >"$work/image/manifest.json"
tar --create --file "$work/payload/busybox.tar" --directory "$work/image" manifest.json config.json layer.tar
cp tests/installed/guest.sh "$work/payload/"

say "booting"
size=$(($(du --summarize --block-size 1M "$work/payload" | cut -f 1) + 64))
truncate --size "${size}M" "$work/payload.img"
mkfs.ext4 -q -F -d "$work/payload" "$work/payload.img"
truncate --size 4G "$work/root.img"
mkfs.ext4 -q -F -E lazy_itable_init=1 -d "$top/root" "$work/root.img"
status=0
timeout --kill-after=10 "${TRIAL_SECONDS:-600}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1536 \
    -display none -monitor none -serial "file:$work/serial" -no-reboot -nic none \
    -kernel "$top"/root/boot/vmlinuz-* -initrd "$top"/root/boot/initrd.img-* \
    -append 'root=/dev/vda rw console=ttyS0 quiet no_timer_check panic=-1 systemd.show_status=0' \
    -drive "file=$work/root.img,format=raw,if=virtio,cache=unsafe" \
    -drive "file=$work/payload.img,format=raw,if=virtio,readonly=on" || status=$?
[ -z "${TRIAL_LOG:-}" ] || cp "$work/serial" "$TRIAL_LOG"
if [ "$status" -ne 0 ] || ! grep -q '^TRIAL: passed' "$work/serial"; then
    tr -d '\r' <"$work/serial" | tail -n 120 >&2
    fail "the trial failed (qemu ended with $status)"
fi
tr -d '\r' <"$work/serial" | sed -n 's/^TRIAL: /installed: /p'
