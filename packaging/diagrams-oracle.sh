#!/usr/bin/env bash
# Installs what the drawings are compared with: Graphviz as WebAssembly (npm's @viz-js/viz, pinned: it is the reference),
# Debian's graphviz (pictures and time), and the DOT files of a few Debian packages as the corpus. All of it lies in the
# build's cache, outside the clone, and is fetched once.
#
#   packaging/diagrams-oracle.sh         # installs what is missing
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
source packaging/environment.sh
source packaging/installing.sh

viz_version=3.31.0 # Graphviz 16.1.0
top="$BUILD_CACHE/diagrams"
say() { printf 'diagrams oracle: %s\n' "$*"; }
fail() { printf 'diagrams oracle: %s\n' "$*" >&2; exit 1; }

# The programs themselves: node and npm run the reference, dot is measured against, xz and bzip2 unpack the corpus.
mapfile -t missing < <(
    packages_without xz-utils:xz bzip2:bzip2 nodejs:node npm:npm graphviz:dot
)
install_packages "${missing[@]}"

viz="$top/viz-$viz_version"
if [ ! -f "$viz/node_modules/@viz-js/viz/dist/viz.js" ]; then
    say "installing @viz-js/viz $viz_version"
    rm -rf "$viz.new"
    mkdir -p "$viz.new"
    npm install --no-save --no-audit --no-fund --silent --prefix "$viz.new" "@viz-js/viz@$viz_version"
    rm -rf "$viz"
    mv "$viz.new" "$viz"
fi

corpus="$top/corpus"
if [ ! -f "$corpus/complete" ]; then
    say "fetching the corpus"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/archives" "$work/unpacked"

    # The machine's own package sources, read as sources of source packages; its lists stay as they are.
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$work/$(basename "$file")"
    done
    [ -f /etc/apt/sources.list ] && sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/old.list"
    apt=(apt-get --quiet --quiet -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work"
        -o "Dir::State::lists=$work/lists" -o "APT::Sandbox::User=root")
    "${apt[@]}" update || fail "the lists of source packages could not be fetched"
    for package in graphviz dot2tex frama-c libgraph-easy-perl ocamlgraph; do
        # Debian's own changes are not wanted, so that it is no failure if only they are out of reach.
        (cd "$work/archives" && "${apt[@]}" source --download-only "$package" 2>/dev/null) || say "$package: not everything was there"
    done
    (cd "$work/archives" && apt-get --quiet --quiet -o APT::Sandbox::User=root download graphviz-doc) ||
        say "graphviz-doc: not fetched"

    unpack() { # archive, patterns...: unpacks the matching files alone
        local archive=$1
        shift
        tar --extract --file "$archive" --directory "$work/unpacked" --wildcards "$@"
    }
    for archive in "$work"/archives/*.orig.tar.*; do
        case "$(basename "$archive")" in
        # The graphs alone: nothing else of this package may be looked at.
        graphviz_*) unpack "$archive" '*/graphs/directed/*.gv' '*/graphs/undirected/*.gv' '*/rtest/graphs/*.gv' ;;
        *) unpack "$archive" '*.dot' '*.gv' '*.dot.txt' 2>/dev/null || unpack "$archive" '*.dot' ;;
        esac
    done
    for archive in "$work"/archives/graphviz-doc_*.deb; do
        [ -f "$archive" ] || continue
        mkdir -p "$work/unpacked/graphviz-doc"
        dpkg-deb --fsys-tarfile "$archive" |
            tar --extract --directory "$work/unpacked/graphviz-doc" --wildcards '*.gv' '*.dot' 2>/dev/null || true
        # Some are compressed.
        dpkg-deb --fsys-tarfile "$archive" |
            tar --extract --directory "$work/unpacked/graphviz-doc" --wildcards '*.gv.gz' '*.dot.gz' 2>/dev/null || true
        find "$work/unpacked/graphviz-doc" -name '*.gz' -exec gunzip --force {} +
    done

    # A flat directory: the package, then the path with its slashes turned, links followed, copies of one text left out.
    rm -rf "$corpus.new"
    mkdir -p "$corpus.new"
    declare -A seen=()
    while IFS= read -r file; do
        digest=$(sha256sum <"$file")
        [ -z "${seen[$digest]:-}" ] || continue
        seen[$digest]=1
        name=${file#"$work/unpacked/"}
        cp "$file" "$corpus.new/${name//\//__}"
    done < <(find -L "$work/unpacked" -type f \( -name '*.gv' -o -name '*.dot' \) | LC_ALL=C sort)
    count=$(find "$corpus.new" -type f | wc -l)
    [ "$count" -ge 400 ] || fail "only $count DOT files were found; at least 400 were expected"
    touch "$corpus.new/complete"
    rm -rf "$corpus"
    mv "$corpus.new" "$corpus"
fi
say "ready in $top: @viz-js/viz $viz_version, $(find "$corpus" -type f | wc -l) DOT files, $(dot -V 2>&1)"
