"""How many seconds translate-toolkit needs to read a file: toolkit.py MODULE.CLASS FILE. Best of two."""

import importlib
import sys
import time

module, name = sys.argv[1].split(".")
store_class = getattr(importlib.import_module(f"translate.storage.{module}"), name)
with open(sys.argv[2], "rb") as file:
    data = file.read()


# By default the toolkit refuses YAML of more than 20,000 units.
unlimited = {"max_yaml_nodes": None, "max_yaml_units": None} if module == "yaml" else {}


def once():
    begun = time.monotonic()
    store = store_class(**unlimited)
    store.parse(data)
    assert len(store.units) >= 40_000, len(store.units)
    return time.monotonic() - begun


print(min(once(), once()))
