#!/bin/bash
# What tests/privileged/isolation/run.sh has done on a machine of its own: every attempt, and the table they make. Lines that
# begin with `TRIAL:` are shown.
set -uo pipefail
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

. /trial/settings
echo "TRIAL: the machine: $(stat -fc %T /sys/fs/cgroup), $(uname -r)"
mkdir -p "$(dirname "$binary")"
ln -s /trial/quintet "$binary"
cp /trial/busybox /bin/busybox
QUINTET_ISOLATION=$starts QUINTET_ATTACKER=/trial/attacker \
    /trial/tests isolation:: --skip containers:: --nocapture --test-threads=1
status=$?
sed -n -E 's/^(held|SLOW|NOT HELD|test result)/TRIAL: \1/p' /trial/log >/trial/rows
cat /trial/rows
[ "$status" -eq 0 ] && echo "TRIAL: passed"
