"""How many seconds translate-toolkit needs to read a file: toolkit.py MODULE.CLASS FILE. Best of two."""

import importlib
import sys
import time

module, name = sys.argv[1].split(".")
store_class = getattr(importlib.import_module(f"translate.storage.{module}"), name)
with open(sys.argv[2], "rb") as file:
    data = file.read()


def once():
    begun = time.monotonic()
    store = store_class()
    store.parse(data)
    assert len(store.units) >= 40_000, len(store.units)
    return time.monotonic() - begun


print(min(once(), once()))
