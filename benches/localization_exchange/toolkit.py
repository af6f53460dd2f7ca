"""How many seconds of CPU translate-toolkit needs to read a document and to write it: toolkit.py KIND FILE.

Reading is parsing, and looking at source and target of each unit; writing is making the same document from these texts,
and serializing it. Best of two, two numbers.
"""

import io
import sys
import time

from translate.storage import tmx, xliff

store_class = {"xliff": xliff.xlifffile, "tmx": tmx.tmxfile}[sys.argv[1]]
with open(sys.argv[2], "rb") as file:
    data = file.read()


def read():
    begun = time.process_time()
    store = store_class()
    store.parse(data)
    units = [(unit.source, unit.target) for unit in store.units]
    assert len(units) >= 50_000, len(units)
    return time.process_time() - begun, units


def write(units):
    begun = time.process_time()
    store = store_class(sourcelanguage="en", targetlanguage="de")
    for source, target in units:
        unit = store.addsourceunit(source)
        if sys.argv[1] == "tmx":
            unit.settarget(target, "de")
        else:
            unit.target = target
    store.serialize(io.BytesIO())
    return time.process_time() - begun


rounds = [read() for _ in range(2)]
print(min(seconds for seconds, _ in rounds), min(write(rounds[0][1]) for _ in range(2)))
