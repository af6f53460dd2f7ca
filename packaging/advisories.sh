#!/usr/bin/env bash
# Holds every dependency (Cargo.lock) against the RustSec advisories, and writes what is known of them, with the date and
# the database's commit, into packaging/advisories.md, which is committed. FILE is written instead if one is named.
# Where the database cannot be reached, the day of the attempt is written below what was known before.
#
# By hand, before a release: the database is a git repository, and a build uses nothing but the package registries.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh

database=https://github.com/RustSec/advisory-db
report="${1:-packaging/advisories.md}"
export ADVISORIES_CACHE="${ADVISORIES_CACHE:-$BUILD_CACHE/advisories}"

fail() { printf 'advisories: %s; nothing was checked, and %s was not written\n' "$*" "$report" >&2; exit 2; }

heading='# Advisories

What the RustSec database knows of the crates in `Cargo.lock`. `make advisories` writes this file.'
unreached='not checked: the database could not be reached'

if ! answer=$(timeout 60 git ls-remote "$database" HEAD 2>&1); then
    known=$heading
    if grep --quiet '^| checked on |' "$report" 2>/dev/null; then
        known=$(grep --invert-match ": $unreached$" "$report")
    fi
    printf '%s\n\n%s: %s\n' "$known" "$(date --utc +%F)" "$unreached" >"$report"
    printf 'advisories: the database cannot be fetched from %s (%s). %s\n' "$database" "${answer##*$'\n'}" \
        "Run this where it can be reached; nothing was checked, and $report says so" >&2
    exit 2
fi

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
mkdir -p "$ADVISORIES_CACHE"
# Advisories make it fail; whether it came to an end shows in its summary.
packaging/cargo-deny.sh --format json --locked --all-features check advisories 2>"$work/said" || true
jq --exit-status --slurp 'any(.[]; .type == "summary")' "$work/said" >/dev/null 2>&1 || {
    cat "$work/said" >&2
    fail "cargo-deny did not come to an end"
}
clones=("$ADVISORIES_CACHE"/advisory-db-*/)
[ "${#clones[@]}" -eq 1 ] || fail "$ADVISORIES_CACHE holds other than one database; remove it"
commit=$(git -C "${clones[0]}" log -1 --format='commit `%H` of %cs')

# A row for each finding. What the database says is text from outside: it stays in its cell.
jq --raw-output '
    def cell: tostring | gsub("[|\r\n]"; " ");
    select(.type == "diagnostic") | .fields
    | [.advisory.id // "-", .code, (.labels[0].span // "-" | split(" ")[:2] | join(" ")), .message]
    | "| " + (map(cell) | join(" | ")) + " |"
' "$work/said" | sort >"$work/rows"
findings=$(wc -l <"$work/rows")

{
    printf '%s\n' "$heading"
    cat <<END

| | |
|---|---|
| checked on | $(date --utc +%F) |
| database | $database, $commit |
| \`Cargo.lock\` | SHA-256 \`$(sha256sum Cargo.lock | cut -d ' ' -f 1)\` |
| outcome | $([ "$findings" -eq 0 ] && echo 'nothing is known of any of them' || echo "$findings findings") |
END
    if [ "$findings" -gt 0 ]; then
        printf '\n| advisory | kind | crate | what it says |\n|---|---|---|---|\n'
        cat "$work/rows"
    fi
} >"$work/report"
cp "$work/report" "$report"
printf 'advisories: %s findings; see %s\n' "$findings" "$report"
[ "$findings" -eq 0 ]
