#!/usr/bin/env bash
# Installs the Debian package where it is meant to be installed, and uses it: in a Debian root made by debootstrap, under a
# systemd of its own. guest.sh says what is tried. Nothing of the machine this runs on is changed.
#
#   tests/installed/run.sh BINARY                 # in a container of systemd-nspawn: seconds, on this machine's kernel
#   tests/installed/run.sh --if-prepared BINARY   # the same, or says that it was never prepared here and ends well
#   tests/installed/run.sh --qemu BINARY          # on Debian's own kernel, with control groups of version 2 and no others;
#                                                 # qemu emulates the processor, so that any machine will do: minutes
#
# With `--isolation TESTS STARTS` nothing is installed: these tests are run there instead, by `make isolation MACHINE=--qemu`.
#
# The Debian root lies in the build's cache and is made once for each machine, in a minute or two. It all needs root.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
source packaging/environment.sh
source packaging/installing.sh

say() { printf 'installed: %s\n' "$*"; }
fail() { printf 'installed: %s\n' "$*" >&2; exit 1; }

if_prepared=false qemu=false isolation='' starts=''
while [[ "${1:-}" == --* ]]; do
    case "$1" in
    --if-prepared) if_prepared=true ;;
    --qemu) qemu=true ;;
    --isolation)
        isolation=${2:?the tests} starts=${3:?how many starts}
        shift 2
        ;;
    *) fail "unknown: $1" ;;
    esac
    shift
done
binary=$(realpath -- "${1:?the binary}")
suite=bookworm
# What the trial needs besides Debian's smallest system, which is what an operator's machine has at least.
guest_packages=systemd,systemd-sysv,dbus,kmod,e2fsprogs,ca-certificates,curl,jq
host_packages=(debootstrap e2fsprogs busybox-static)
if $qemu; then
    guest_packages+=,linux-image-cloud-amd64,initramfs-tools
    host_packages+=(qemu-system-x86)
else
    host_packages+=(systemd-container)
fi
top="$BUILD_CACHE/debian/$suite-$(printf '%s' "$suite $guest_packages" | sha256sum | cut -c 1-12)"

missing=()
for package in "${host_packages[@]}"; do
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] ||
        missing+=("$package")
done
if $if_prepared; then
    if [ ${#missing[@]} -gt 0 ] || [ ! -e "$top/complete" ] || [ "$(id -u)" -ne 0 ]; then
        say "skipped: 'make test-installed', as root, has not been run on this machine"
        exit 0
    fi
fi
[ "$(id -u)" -eq 0 ] || fail "debootstrap needs root"
install_packages "${missing[@]}"

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
    touch "$top/complete"
fi

work=$(mktemp -d)
group=quintet-trial-$$
clear_up() {
    if mountpoint --quiet "$work/root"; then umount "$work/root"; fi
    local root
    for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ ! -d "$root/$group" ] || find "$root/$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clear_up EXIT
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
    "$diff_id" >"$work/config"
config=$(sha256sum "$work/config" | cut -d ' ' -f 1).json
mv "$work/config" "$work/image/$config"
printf '[{"Config":"%s","RepoTags":["busybox:1"],"Layers":["layer.tar"]}]' "$config" >"$work/image/manifest.json"
tar --create --file "$work/payload/busybox.tar" --directory "$work/image" manifest.json "$config" layer.tar
cp tests/installed/guest.sh "$work/payload/"
if [ -n "$isolation" ]; then
    # Without what only debuggers read. The tests know the binary by the path where it was built.
    strip -o "$work/payload/tests" "$isolation"
    strip -o "$work/payload/quintet" "$binary"
    cp /bin/busybox "$work/payload/"
    cc -O1 -static -o "$work/payload/attacker" tests/privileged/isolation/attacker.c -lrt
    printf 'starts=%s binary=%s\n' "$starts" "$binary" >"$work/payload/settings"
    cp tests/privileged/isolation/guest.sh "$work/payload/"
fi
# What the README's chapter "Install" says to do once the package is installed: its second block.
awk '/^## /{chapter = $2} /^```sh/{block += chapter == "Install"; taken = chapter == "Install" && block == 2; next}
    /^```/{taken = 0} taken' README.md >"$work/payload/readme.sh"

truncate --size 4G "$work/root.img"
mkfs.ext4 -q -F -E lazy_itable_init=1 -d "$top/root" "$work/root.img"
mkdir "$work/root"
mount -o loop "$work/root.img" "$work/root"
cat >"$work/root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
Description=The trial of the package
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /trial/guest.sh
ExecStopPost=/bin/sh -c 'sync; exec systemctl poweroff --force --force'
StandardOutput=append:/trial/log
StandardError=append:/trial/log
UNIT
mkdir -p "$work/root/trial" "$work/root/etc/systemd/system/multi-user.target.wants"
ln -sf ../trial.service "$work/root/etc/systemd/system/multi-user.target.wants/trial.service"
cp -r "$work/payload/." "$work/root/trial/"

say "booting"
status=0
if $qemu; then
    umount "$work/root"
    timeout --kill-after=10 "${TRIAL_SECONDS:-1800}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1536 \
        -display none -monitor none -serial "file:$work/console" -no-reboot -nic none \
        -kernel "$top"/root/boot/vmlinuz-* -initrd "$top"/root/boot/initrd.img-* \
        -append 'root=/dev/vda rw console=ttyS0 quiet no_timer_check panic=-1 systemd.show_status=0' \
        -drive "file=$work/root.img,format=raw,if=virtio,cache=unsafe" || status=$?
    mount -o loop "$work/root.img" "$work/root"
else
    # In control groups of its own, so that its systemd makes none among those of this machine. A group of cpuset could not
    # be entered before it has processors.
    (
        for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
            if [ "$root" != /sys/fs/cgroup/cpuset ] && [ -e "$root/cgroup.procs" ] && mkdir "$root/$group" 2>/dev/null; then
                echo "$BASHPID" >"$root/$group/cgroup.procs"
            fi
        done
        exec timeout --kill-after=10 "${TRIAL_SECONDS:-600}" systemd-nspawn --quiet --boot --register=no --keep-unit \
            --console=read-only --private-network --capability=all --directory "$work/root"
    ) </dev/null >"$work/console" 2>&1 || status=$?
fi
[ -z "${TRIAL_LOG:-}" ] || cp "$work/root/trial/log" "$TRIAL_LOG" || true
if ! grep -q '^TRIAL: passed' "$work/root/trial/log" 2>/dev/null; then
    tail -n 40 "$work/console" >&2
    cat "$work/root/trial/log" >&2 || true
    fail "the trial failed (the machine ended with $status)"
fi
sed -n 's/^TRIAL: /installed: /p' "$work/root/trial/log"
