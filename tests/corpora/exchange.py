"""What translate-toolkit reads of documents, and documents that it writes: exchange.py MANIFEST.

Each line of the manifest is a document: its kind, its file, the rows (id, source, target or null) that it must say, and
two files to write. For each the answer is a line: where the toolkit reads something else (`differences`); the rows of the
document after every third target was set anew and the rest saved as they were (`edited`); and the rows of a document that
the toolkit makes from nothing (`made`).
"""

import json
import sys

from translate.storage import tbx, tmx, xliff, xliff2

CLASSES = {"xliff1": xliff.xlifffile, "xliff2": xliff2.Xliff2File, "tmx": tmx.tmxfile, "tbx": tbx.tbxfile}


def units_of(store):
    return [unit for unit in store.units if not unit.isheader()]


def row_of(kind, unit):
    identity = unit.getid() if kind.startswith("xliff") else ""
    # The toolkit puts the name of the file before the id in 1.2.
    identity = (identity or "").split("\x04")[-1]
    return [identity, unit.source, unit.target]


def alike(kind, meant, found):
    same = meant[1] == found[1] and (meant[2] or "") == (found[2] or "")
    return same and (not kind.startswith("xliff") or meant[0] == found[0])


def read(kind, data):
    store = CLASSES[kind]()
    store.parse(data)
    return store


def differences(kind, rows, units):
    told = []
    if len(rows) != len(units):
        told.append(f"{len(rows)} units, {len(units)} read")
    for meant, unit in zip(rows, units):
        found = row_of(kind, unit)
        if not alike(kind, meant, found):
            told.append(f"{meant!r} is {found!r}")
    return told


def edit(kind, store):
    rows = []
    for number, unit in enumerate(units_of(store)):
        row = row_of(kind, unit)
        if number % 3 == 0 and row[1]:
            row[2] = f" {number}\t<{row[1]}>\n& ]]> "
            if kind in ("tmx", "tbx"):
                unit.settarget(row[2], "de")
            else:
                unit.target = row[2]
        rows.append(row)
    return rows


def make(kind, rows):
    store = CLASSES[kind](sourcelanguage="en", targetlanguage="de")
    made = []
    for identity, source, target in rows:
        # The toolkit takes no empty source.
        if not source:
            continue
        unit = store.addsourceunit(source)
        if target is not None:
            if kind in ("tmx", "tbx"):
                unit.settarget(target, "de")
            else:
                unit.target = target
        if kind.startswith("xliff"):
            unit.setid(identity)
        made.append([identity, source, target])
    return store, made


def save(store, path):
    with open(path, "wb") as file:
        store.serialize(file)


with open(sys.argv[1], encoding="utf-8") as manifest:
    for line in manifest:
        asked = json.loads(line)
        kind = asked["kind"]
        with open(asked["file"], "rb") as file:
            store = read(kind, file.read())
        answer = {"differences": differences(kind, asked["rows"], units_of(store))}
        answer["edited"] = edit(kind, store)
        save(store, asked["edited"])
        store, answer["made"] = make(kind, asked["rows"])
        save(store, asked["made"])
        print(json.dumps(answer))
