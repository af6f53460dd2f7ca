#!/usr/bin/env python3
"""Writes what the licences of everything that is linked into the binary ask for: name, version, licence and notices.

Usage: cargo metadata ... | third-party.py LIST, where LIST has a line `name version` for each crate that is linked
(`cargo tree --edges normal`). Texts that several share are printed once.
"""
import json
import pathlib
import sys

NOTICES = ("license", "licence", "copying", "notice", "copyright", "unlicense")


def notices(directory):
    """The texts that lie beside a crate, and those of what it brings along in C and C++."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name.lower().startswith(NOTICES) and path.stat().st_size < 1 << 18:
            # RocksDB is offered under two licences; it is taken under the Apache one.
            if path.parent.name == "rocksdb" and path.name == "COPYING":
                continue
            try:
                yield path.relative_to(directory), path.read_text()
            except UnicodeDecodeError:
                continue


def main():
    linked = {tuple(line.split()[:2]) for line in pathlib.Path(sys.argv[1]).read_text().splitlines() if line.strip()}
    packages = [
        package
        for package in json.load(sys.stdin)["packages"]
        if package["source"] and (package["name"], package["version"]) in linked
    ]
    if len(packages) < 50:
        sys.exit(f"third-party: only {len(packages)} crates are linked? Something is wrong with the list.")
    seen = {}
    print("quintet is one static binary. These crates are linked into it, unchanged:\n")
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        name = f"{package['name']} {package['version']}"
        print("=" * 100)
        print(f"{name}: {package['license'] or 'see below'}, {package['repository'] or ''}\n")
        for path, text in notices(pathlib.Path(package["manifest_path"]).parent):
            text = text.strip()
            if text in seen:
                print(f"{path}: as in {seen[text]}\n")
            else:
                seen[text] = f"{name}, {path}"
                print(f"{path}:\n\n{text}\n")


main()
