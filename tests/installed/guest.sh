#!/bin/bash
# What is tried with the Debian package on a system of its own; run.sh starts it there, as root, under systemd.
# Every line that begins with `TRIAL:` is shown; the last one of a trial that went well is `TRIAL: passed`.
set -uo pipefail
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

started=$SECONDS
step() { printf 'TRIAL: %3d s: %s\n' $((SECONDS - started)) "$*"; }
fail() {
    printf 'TRIAL: FAILED: %s\n' "$*"
    systemctl --no-pager --full status quintet quintet-runner quintet-containers 2>&1 | tail -n 60
    journalctl --no-pager --lines 60 --output short-monotonic 2>&1 | tail -n 60
    exit 1
}
expect() { # what is said if it is not so, a command
    local said=$1
    shift
    "$@" || fail "$said: $*"
}
equal() { [ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"; }
until_so() { # what is waited for, a command
    local said=$1 attempts=0
    shift
    until "$@" >/dev/null 2>&1; do
        attempts=$((attempts + 1))
        [ $attempts -lt 300 ] || fail "waited in vain: $said"
        sleep 0.2
    done
}
units="quintet-containers quintet-runner quintet"
are_active() { local unit; for unit in $units; do systemctl is-active --quiet "$unit" || return 1; done; }

step "the machine: $(stat -fc %T /sys/fs/cgroup), $(uname -r), $(systemctl --version | head -n 1)"

# systemd-nspawn keeps controllers of version 1 from what it starts; on a machine that boots with them they are systemd's.
for point in $(awk '$3 == "cgroup" && $4 ~ /^ro,/ {print $2}' /proc/mounts); do
    mount -o remount,rw,bind "$point" || fail "$point"
done

# --- Installed with one command, everything runs, and the first key is made as the package says.
dpkg -i /trial/first.deb >/root/install.log 2>&1 || { cat /root/install.log; fail "dpkg -i"; }
cat /root/install.log
until_so "the units are active" are_active
for unit in $units; do expect "not enabled" systemctl is-enabled --quiet "$unit"; done
expect "nothing is said of a first tenant" grep -q 'quintet tenant create' /root/install.log
step "installed; $units are active"

# The README's lines, as they stand there; this is root already.
sudo() { "$@"; }
expect "the README says nothing of a first tenant" grep -q 'tenant create' /trial/readme.sh
trap 'fail "a line of the README"' ERR
. /trial/readme.sh >/root/readme.log
trap - ERR
expect "the README's first request was not answered" grep -q '"accounts":\[\]' /root/readme.log
TENANT=$(quintet tenant list --json | jq -r '.items[0].tenant_id')
step "the first lines of the README"
call() { # port, method, path, body
    curl -sS --max-time 60 -X "$2" "http://127.0.0.1:$1$3" -H "Authorization: Bearer $KEY" -H "L10n-Tenant: $TENANT" \
        -H "Idempotency-Key: $RANDOM$RANDOM$RANDOM" -H 'Content-Type: application/json' ${4:+-d "$4"}
}
EUR=$(call 7430 POST /v1/asset-types '{"code": "EUR", "kind": "fiat", "scale": 2}' | jq -r .asset_type_id)
BANK=$(call 7430 POST /v1/accounts "{\"asset_type_id\": \"$EUR\", \"name\": \"Bank\", \"normal_side\": \"debit\", \"balance_floor\": null}" | jq -r .account_id)
ALICE=$(call 7430 POST /v1/accounts "{\"asset_type_id\": \"$EUR\", \"name\": \"Alice\", \"normal_side\": \"credit\"}" | jq -r .account_id)
call 7430 POST /v1/transactions "{\"description\": \"Deposit\", \"entries\": [
  {\"account_id\": \"$BANK\", \"direction\": \"debit\", \"amount\": \"100.00\"},
  {\"account_id\": \"$ALICE\", \"direction\": \"credit\", \"amount\": \"100.00\"}]}" | jq -e .transaction_id >/dev/null || fail "a posting"
balance() { call 7430 GET "/v1/accounts/$ALICE/balance" | jq -r .available; }
equal "the balance" "$(balance)" 100.00
step "a posting"

WORKSPACE=$(call 7410 POST /v1/workspaces '{"slug": "trial", "name": "Trial"}' | jq -r .id)
PROJECT=$(call 7410 POST /v1/projects "{\"workspace_id\": \"$WORKSPACE\", \"slug\": \"shop\", \"name\": \"Shop\", \"source_locale\": \"en\"}" | jq -r .id)
call 7410 POST "/v1/projects/$PROJECT/files?kind=json&path=en.json" '{"title": "Our shop", "pay": "Pay now"}' | jq -e .file_id >/dev/null || fail "an import"
equal "the keys of the imported file" "$(call 7410 GET "/v1/projects/$PROJECT/keys" | jq '.keys | length')" 2
step "an import"

PICTURE=$(curl -sS --max-time 60 "http://127.0.0.1:7450/graphs?format=png" -H 'Content-Type: application/json' -d '{"dotfile": "digraph { a -> b }"}')
FILE=$(jq -r .url <<<"$PICTURE" | sed "s|.*/||")
curl -sS --max-time 60 "http://127.0.0.1:7450/graphs/$FILE" -o /root/picture.png
equal "the picture" "$(head -c 4 /root/picture.png | tail -c 3)" PNG
step "a diagram as PNG"

quintet backup create /root/backup >/dev/null || fail "a backup"
quintet verify --data /root/backup >/dev/null || fail "the backup is not sound"
quintet verify >/dev/null || fail "the running directory is not sound"
step "a backup, checked"

# --- Containers, in the group that is theirs.
quintet image import /trial/busybox.tar --name busybox:1 >/dev/null || fail "an image"
run() { call 7420 POST /api/v1/runs "$1" | jq -r .track_id; }
state() { call 7420 GET "/api/v1/runs/$1" | jq -r .state; }
is_in_state() { [ "$(state "$1")" = "$2" ]; }
SHORT=$(run '{"image": "busybox:1", "command": ["sh", "-c", "id -u; cat /proc/self/status | cat >/dev/null; echo {\\\"answer\\\": 42}"], "memory_limit_mb": 64}')
call 7420 GET "/api/v1/runs/$SHORT?wait=60" >/root/short.json
jq -c '{state, reason, message}' /root/short.json
equal "the first container" "$(jq -r '.state + " " + (.exit_code | tostring)' /root/short.json)" "exited 0"
equal "its output" "$(call 7420 GET "/api/v1/runs/$SHORT/result" | jq -c .output)" '{"answer":42}'
LONG=$(run '{"image": "busybox:1", "command": ["sleep", "3000"], "memory_limit_mb": 64, "cpu_limit": 0.5, "timeout_seconds": 3000}')
until_so "the second container runs" is_in_state "$LONG" running
pid_of_long() { local p; for p in /proc/[0-9]*; do [ "$(tr '\0' ' ' 2>/dev/null <"$p/cmdline")" = "sleep 3000 " ] && echo "${p#/proc/}"; done; }
PID=$(pid_of_long)
[ -n "$PID" ] || fail "the container has no process"
# The container's group, in the hierarchy of version 2 or in those of version 1 with a controller.
if [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]; then
    # The processor is limited one group higher, for the processes and their supervisor together.
    group_of() { echo "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$PID/cgroup")" | if [ "$1" = cpu ]; then sed 's|/processes$||'; else cat; fi; }
    memory_limit=memory.max processor_limit=cpu.max half='50000 100000'
else
    group_of() { echo "/sys/fs/cgroup/$1$(sed -n "s/^[0-9]*:$1://p" "/proc/$PID/cgroup")"; }
    memory_limit=memory.limit_in_bytes processor_limit=cpu.cfs_quota_us half=50000
fi
for controller in memory cpu; do
    case "$(group_of $controller)" in
    */system.slice/quintet-containers.service/*) ;;
    *) fail "the container's group is $(group_of $controller)" ;;
    esac
done
equal "the memory limit" "$(cat "$(group_of memory)/$memory_limit")" 67108864
equal "the processor limit" "$(cat "$(group_of cpu)/$processor_limit")" "$half"
equal "the user outside" "$(( $(stat -c %u "/proc/$PID") >= 1879048192 ))" 1
step "containers, in $(group_of memory)"
OOM=$(run '{"image": "busybox:1", "command": ["sh", "-c", "x=; while :; do x=$x$x.........................................................; done"], "memory_limit_mb": 16}')
call 7420 GET "/api/v1/runs/$OOM?wait=60" | jq -c '{state, reason, exit_code}'
equal "a container that takes too much memory" "$(call 7420 GET "/api/v1/runs/$OOM" | jq -r .reason)" oom_killed
call 7420 POST "/api/v1/runs/$LONG/pause" >/dev/null
until_so "paused" is_in_state "$LONG" paused
call 7420 POST "/api/v1/runs/$LONG/resume" >/dev/null
until_so "running again" is_in_state "$LONG" running
step "limits, the end of one without memory, pause and resume"

# --- Restarts, an upgrade, a kill: containers go on, nothing acknowledged is lost.
systemctl restart quintet-runner quintet || fail "restart"
until_so "the units are active" are_active
equal "the container after a restart of both services" "$(pid_of_long)" "$PID"
until_so "the container is known again" is_in_state "$LONG" running
before=$(systemctl show --property MainPID --value quintet)
kill -9 "$before"
until_so "the server is started again" are_active
until_so "it answers" curl -sSf http://127.0.0.1:7430/healthz
[ "$(systemctl show --property MainPID --value quintet)" != "$before" ] || fail "the same process"
equal "the balance after kill -9" "$(balance)" 100.00
kill -9 "$(systemctl show --property MainPID --value quintet-runner)"
sleep 1
until_so "the runner is started again" are_active
equal "the container after kill -9 of both" "$(pid_of_long)" "$PID"
step "restarts and kill -9"

sed -i 's/^#edge_burst = 20$/edge_burst = 21/' /etc/quintet/quintet.toml
before=$(systemctl show --property MainPID --value quintet)
dpkg -i /trial/second.deb >/root/upgrade.log 2>&1 || { cat /root/upgrade.log; fail "upgrade"; }
until_so "the units are active" are_active
[ "$(systemctl show --property MainPID --value quintet)" != "$before" ] || fail "the upgrade left the old server running"
equal "the container after an upgrade" "$(pid_of_long)" "$PID"
until_so "it answers" curl -sSf http://127.0.0.1:7430/healthz
equal "the balance after an upgrade" "$(balance)" 100.00
equal "the changed configuration" "$(quintet config print | sed -n 's/^ledger.edge_burst = \([0-9]*\) .*/\1/p')" 21
! grep -q 'quintet tenant create' /root/upgrade.log || fail "an upgrade needs no first tenant"
call 7420 POST "/api/v1/runs/$LONG/kill" >/dev/null
until_so "the container is killed" is_in_state "$LONG" killed
step "an upgrade; the container went on, the configuration stayed"

# --- What the units keep to.
for unit in $units; do
    expect "a unit with a mistake" systemd-analyze verify --man=no "/usr/lib/systemd/system/$unit.service"
done
systemd-analyze security --no-pager quintet.service | tail -n 1
systemd-analyze security --no-pager --threshold=15 quintet.service >/dev/null || fail "the server is exposed"
main=$(systemctl show --property MainPID --value quintet)
equal "the server's privileges" "$(sed -n 's/^CapEff:\t//p; s/^CapBnd:\t//p' "/proc/$main/status" | sort -u)" 0000000000000000
equal "the server's filter" "$(sed -n 's/^Seccomp:\t//p' "/proc/$main/status")" 2
equal "the user of the server" "$(stat -c %U /var/lib/quintet) $(systemctl show --property User --value quintet)" "quintet quintet"
equal "the modes" "$(stat -c '%n %a %U:%G' /var/lib/quintet /var/lib/quintet/root.key /var/lib/quintet-runner /run/quintet/runner.sock)" \
    "/var/lib/quintet 700 quintet:quintet
/var/lib/quintet/root.key 600 quintet:quintet
/var/lib/quintet-runner 700 root:root
/run/quintet/runner.sock 660 root:quintet"
equal "filter's complaints" "$(journalctl --no-pager | grep -c 'audit.*SECCOMP')" 0
quintet doctor
quintet status
expect "the licences are missing" grep -q '^License: Apache-2.0' /usr/share/doc/quintet/copyright
expect "the notices are missing" grep -q tokio <(zcat /usr/share/doc/quintet/third-party.gz)
man_pages=$(find /usr/share/man -name 'quintet*' | wc -l)
[ "$man_pages" -gt 40 ] || fail "$man_pages manual pages"
step "units, modes, $man_pages manual pages"

# --- With a wrong configuration it does not start for ever.
sed -i '1i nonsense = 1' /etc/quintet/quintet.toml
systemctl restart quintet 2>/dev/null && fail "it starts with a wrong configuration"
until_so "systemd gives up" systemctl is-failed quintet
journalctl --no-pager --unit quintet --lines 20 --output cat | grep -q 'quintet.toml:1: unknown key nonsense' || fail "the log does not say why"
sed -i 1d /etc/quintet/quintet.toml
systemctl reset-failed quintet
systemctl start quintet || fail "start"
step "a wrong configuration"

# --- The root key as a credential that the machine's own key seals.
systemctl stop quintet
install -d -m 0700 /etc/credstore.encrypted
head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' | systemd-creds encrypt --with-key=host --name=quintet-root-key - /etc/credstore.encrypted/quintet-root-key || fail "systemd-creds"
mkdir -p /etc/systemd/system/quintet.service.d
printf '[Service]\nLoadCredentialEncrypted=quintet-root-key\n' >/etc/systemd/system/quintet.service.d/key.conf
sed -i 's/^#root_key = .*/root_key = "credential:quintet-root-key"/; s/^#root_key_previous = .*/root_key_previous = "file:root.key"/' \
    /etc/quintet/quintet.toml
systemctl daemon-reload
systemctl start quintet || fail "with the root key as a credential"
equal "the balance" "$(balance)" 100.00
quintet root-key show
step "the root key as a credential"

# --- Removed: everything stops, the data stays. Installed again: it is there.
dpkg -r quintet >/root/remove.log 2>&1 || { cat /root/remove.log; fail "remove"; }
for unit in $units; do ! systemctl is-active --quiet "$unit" || fail "$unit is still active"; done
left=$(find /sys/fs/cgroup -path '*/quintet-containers.service/*' -name cgroup.procs -exec cat {} + | sort -u)
equal "processes in the containers' groups" "$left" ""
expect "the data is gone" test -e /var/lib/quintet/root.key
expect "the configuration is gone" test -e /etc/quintet/quintet.toml
dpkg -i /trial/first.deb >/root/again.log 2>&1 || { cat /root/again.log; fail "install again"; }
until_so "the units are active" are_active
equal "the balance" "$(balance)" 100.00
dpkg -P quintet >/root/purge.log 2>&1 || { cat /root/purge.log; fail "purge"; }
grep -A 2 'Left behind' /root/purge.log || fail "the purge says nothing of what it leaves"
equal "what a purge leaves" "$(find / -xdev -iname '*quintet*' -not -path '/root/*' -not -path '/proc/*' -not -path '/var/lib/quintet/*' | sort | tr '\n' ' ')" \
    "/etc/credstore.encrypted/quintet-root-key /etc/systemd/system/quintet.service.d /var/lib/quintet "
expect "the data is gone" test -e /var/lib/quintet/FORMAT
step "removed, installed again, purged"
echo "TRIAL: passed"
