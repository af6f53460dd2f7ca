"""Reads exported files with parsers that are not ours, and compares every value: judge.py MANIFEST [thorough].

Each line of the manifest is {"kind", "file", "root", "values": [[path, text], ...]}: the string values that must be in
the file, in order. With "may_be_refused" a parser may find fault with a file, but not read it otherwise; with
"must_be_refused" it must. Prints one JSON object: files, values, wrong, examples. `thorough` adds second and third
parsers.
"""

import json
import sys

import javaproperties
import yaml

thorough = len(sys.argv) > 2
Loader = yaml.CSafeLoader
result = {"files": 0, "values": 0, "wrong": 0, "examples": []}


def wrong(entry, what):
    result["wrong"] += 1
    if len(result["examples"]) < 20:
        result["examples"].append(f"{entry['file']}: {what}")


def join(path, name):
    return name if path is None else f"{path}.{name}"


def json_leaves(value, path=None):
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Object):
        for name, member in value.members:
            yield from json_leaves(member, join(path, name))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from json_leaves(element, join(path, str(index)))


class Object:
    def __init__(self, members):
        self.members = members


def yaml_leaves(node, path=None):
    if isinstance(node, yaml.ScalarNode):
        yield path, node
    elif isinstance(node, yaml.MappingNode):
        for name, member in node.value:
            yield from yaml_leaves(member, join(path, name.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, element in enumerate(node.value):
            yield from yaml_leaves(element, join(path, str(index)))


def judge_yaml(entry, data, loader):
    node = yaml.compose(data.decode("utf-8"), Loader=loader)
    if entry["root"] is not None and isinstance(node, yaml.MappingNode):
        (key, node), = node.value
        if key.value != entry["root"] or key.tag != "tag:yaml.org,2002:str":
            return wrong(entry, f"root {key.value!r} is {key.tag}")
    # The style of a scalar without quotes is None or empty.
    expected = iter(entry["values"] + [[None, None]])
    path, text = next(expected)
    for found, leaf in yaml_leaves(node):
        string = leaf.tag == "tag:yaml.org,2002:str"
        if found == path and leaf.value == text:
            # After a lone `!` PyYAML resolves a scalar in quotes as if it had none; Ruby and YAML 1.2 do not.
            if not string and not leaf.style:
                wrong(entry, f"{path} is {leaf.tag}")
            result["values"] += 1
            path, text = next(expected)
        elif string and leaf.style:
            wrong(entry, f"{found} is {leaf.value!r}, expected {path} {text!r}")
    if path is not None:
        wrong(entry, f"{path} is not {text!r}")


def judge_list(entry, found):
    expected = [tuple(value) for value in entry["values"]]
    result["values"] += len(expected)
    for (path, text), value in zip(expected, found):
        if value != (path, text):
            wrong(entry, f"{value!r}, expected {(path, text)!r}")
    if len(found) != len(expected):
        wrong(entry, f"{len(found)} values, expected {len(expected)}")


def judge_properties(entry, data):
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    pairs = [(item.key, item.value) for item in javaproperties.parse(text) if isinstance(item, javaproperties.KeyValue)]
    judge_list(entry, pairs)


def judge_with_toolkit(entry, data):
    """What translate-toolkit reads must be among what is meant, text by text."""
    from translate.storage import jsonl10n, properties
    if entry["kind"] == "json":
        store = jsonl10n.JsonNestedFile()
    else:
        store = properties.javautf8file()
    store.parse(data)
    found = sorted(unit.target for unit in store.units if unit.istranslatable() and unit.target)
    meant = sorted(text for _, text in entry["values"] if text)
    missing = set(found) - set(meant)
    result["toolkit"] = result.get("toolkit", 0) + len(found)
    for text in list(missing)[:3]:
        result["toolkit_differs"] = result.get("toolkit_differs", 0) + 1
        if len(result["examples"]) < 20:
            result["examples"].append(f"toolkit: {entry['file']}: {text!r}")


with open(sys.argv[1], encoding="utf-8") as manifest:
    for line in manifest:
        entry = json.loads(line)
        with open(entry["file"], "rb") as file:
            data = file.read()
        result["files"] += 1
        try:
            if entry["kind"] == "json":
                value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=Object)
                judge_list(entry, list(json_leaves(value)))
            elif entry["kind"] == "properties":
                judge_properties(entry, data)
            else:
                judge_yaml(entry, data, Loader)
                if entry.get("must_be_refused"):
                    wrong(entry, "read, and not refused")
                # The parser in Python alone takes a hundred times as long, and refuses tabs that libyaml reads.
                if thorough and len(data) < 100_000 and result["files"] % 8 == 0:
                    try:
                        judge_yaml(entry, data, yaml.SafeLoader)
                    except yaml.YAMLError:
                        result["python_refused"] = result.get("python_refused", 0) + 1
        except Exception as error:
            if entry.get("may_be_refused") or entry.get("must_be_refused"):
                result["refused"] = result.get("refused", 0) + 1
            else:
                wrong(entry, f"{type(error).__name__}: {error}")
        if thorough and entry["kind"] == "json":
            try:
                judge_with_toolkit(entry, data)
            except Exception as error:
                result["toolkit_refused"] = result.get("toolkit_refused", 0) + 1
json.dump(result, sys.stdout)
