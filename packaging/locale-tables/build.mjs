// Makes the tables of assets/locales/ from the pinned packages: node build.mjs SOURCES DESTINATION
//
// Each table begins with lines that say where it is from; after them comes one row a line, its columns divided by
// tabs, ordered by bytes. The digest in the header is that of the rows alone, each with its line end.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [sources, destination] = process.argv.slice(2);
if (!sources || !destination) throw new Error("usage: node build.mjs SOURCES DESTINATION");

const read = (...path) => JSON.parse(readFileSync(join(sources, "node_modules", ...path), "utf8"));

// The days on which these versions of the packages were published.
const PUBLISHED = {
    "cldr-bcp47": { "48.2.0": "2026-08-20" },
    "cldr-core": { "48.2.0": "2026-03-25" },
    "cldr-misc-full": { "48.2.0": "2026-05-13" },
    "language-subtag-registry": { "0.4.2": "2026-02-22" },
};

function origin(name, file) {
    const { version, license } = read(name, "package.json");
    const published = PUBLISHED[name][version];
    if (!published) throw new Error(`${name} ${version}: say when it was published`);
    const release = name === "language-subtag-registry"
        ? `IANA registry of ${read(name, "data/json/meta.json")["File-Date"]}`
        : `CLDR ${version.replace(/\.0$/, "")}`;
    return `# source: npm ${name} ${version}, ${file}; ${release}, published ${published}, ${license}`;
}

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function write(name, title, origins, columns, rows) {
    const lines = rows.map((row) => {
        const cells = columns.map((_, index) => row[index] ?? "");
        if (row.length > columns.length || cells.some((cell) => /[\t\r\n]/.test(cell))) throw new Error(`${name}: ${row}`);
        return cells.join("\t");
    });
    lines.sort(byBytes);
    if (new Set(lines).size !== lines.length) throw new Error(`${name}: a row stands twice`);
    const body = lines.map((line) => line + "\n").join("");
    const head = [
        `# ${title}`,
        ...origins,
        `# columns: ${columns.join(", ")}`,
        `# rows: ${lines.length}`,
        `# sha256: ${createHash("sha256").update(body).digest("hex")}`,
    ];
    writeFileSync(join(destination, name), head.join("\n") + "\n" + body);
}

// `qaa..qtz` stands for all of them.
function expanded(range) {
    const [first, last] = range.split("..");
    if (!last) return [first];
    const all = [];
    for (let letters = first; ; letters = successor(letters)) {
        all.push(letters);
        if (letters === last) return all;
    }
}

function successor(letters) {
    const head = letters.slice(0, -1);
    const tail = letters.slice(-1);
    if (tail === "z") return successor(head) + "a";
    if (tail === "Z") return successor(head) + "A";
    return head + String.fromCharCode(tail.charCodeAt(0) + 1);
}

const registry = read("language-subtag-registry/data/json/registry.json");
const registryOrigin = origin("language-subtag-registry", "data/json/registry.json");
const aliases = read("cldr-core/supplemental/aliases.json").supplemental.metadata.alias;

mkdirSync(destination, { recursive: true });

write(
    "subtags.tsv",
    "Every registered subtag, in lower case.",
    [registryOrigin],
    ["type", "subtag", "scope", "deprecated since", "preferred value", "script that goes without saying", "prefixes"],
    registry.filter((record) => record.Subtag).flatMap((record) => expanded(record.Subtag).map((subtag) => [
        record.Type,
        subtag.toLowerCase(),
        record.Subtag.includes("..") || record.Description.includes("Private use") ? "private-use" : record.Scope,
        record.Deprecated,
        record["Preferred-Value"]?.toLowerCase(),
        record["Suppress-Script"]?.toLowerCase(),
        // Only an extended language is bound to its prefix; a variant's is advice.
        record.Type === "extlang" ? record.Prefix.join(" ") : "",
    ])),
);

write(
    "tags.tsv",
    "Every grandfathered and redundant tag, in lower case.",
    [registryOrigin],
    ["type", "tag", "deprecated since", "preferred value"],
    registry.filter((record) => record.Tag).map((record) =>
        [record.Type, record.Tag.toLowerCase(), record.Deprecated, record["Preferred-Value"]?.toLowerCase()]),
);

// What IANA says about a whole tag goes before what CLDR says: CLDR 48 turns sgn-NO, the Norwegian sign language, into
// nsi, which is the Nigerian one.
const registered = new Map(registry.filter((record) => record.Tag).map((record) => [record.Tag, record["Preferred-Value"]]));
function corrected(from, to) {
    const preferred = registered.get(from);
    if (!preferred) return to;
    const [language, ...rest] = preferred.split("-");
    const further = [aliases.languageAlias[language]?._replacement ?? language, ...rest].join("-");
    return further === to ? to : preferred;
}
const KINDS = { language: "languageAlias", script: "scriptAlias", subdivision: "subdivisionAlias", territory: "territoryAlias", variant: "variantAlias" };
write(
    "aliases.tsv",
    "What CLDR replaces, in lower case; several replacements are divided by spaces. IANA's value for a whole tag wins (sgn-NO).",
    [origin("cldr-core", "supplemental/aliases.json"), registryOrigin],
    ["kind", "from", "to", "reason"],
    Object.entries(KINDS).flatMap(([kind, name]) => Object.entries(aliases[name]).map(([from, alias]) =>
        [kind, from.toLowerCase(), corrected(from, alias._replacement).toLowerCase(), alias._reason])),
);

const likely = read("cldr-core/supplemental/likelySubtags.json").supplemental.likelySubtags;
write(
    "likely.tsv",
    "What is most likely meant where a tag leaves script or region open, in lower case.",
    [origin("cldr-core", "supplemental/likelySubtags.json")],
    ["tag", "language, script and region"],
    Object.entries(likely).map(([from, to]) => [from.toLowerCase(), to.toLowerCase()]),
);

const scripts = read("cldr-core/scriptMetadata.json").scriptMetadata;
write(
    "scripts.tsv",
    "The direction of each script that CLDR knows, in lower case.",
    [origin("cldr-core", "scriptMetadata.json")],
    ["script", "direction"],
    Object.entries(scripts).map(([script, { rtl }]) => [script.toLowerCase(), rtl === "YES" ? "rtl" : "ltr"]),
);

const SAMPLES = /^(.*?)(?:@integer (.*?))?(?:@decimal (.*?))?$/s;
const pluralRows = (kind, rules) => Object.entries(rules).flatMap(([locale, categories]) =>
    Object.entries(categories).map(([name, text]) => {
        const [, rule, integers, decimals] = SAMPLES.exec(text);
        const samples = [integers, decimals].filter(Boolean).map((some) => some.trim()).join(", ");
        return [kind, locale.toLowerCase(), name.replace("pluralRule-count-", ""), rule.trim(), samples];
    }));
write(
    "plurals.tsv",
    "Which numbers have which plural category, in the grammar of UTS 35 part 3, with CLDR's own samples.",
    [origin("cldr-core", "supplemental/plurals.json"), origin("cldr-core", "supplemental/ordinals.json")],
    ["kind", "locale", "category", "rule", "samples"],
    [
        ...pluralRows("cardinal", read("cldr-core/supplemental/plurals.json").supplemental["plurals-type-cardinal"]),
        ...pluralRows("ordinal", read("cldr-core/supplemental/ordinals.json").supplemental["plurals-type-ordinal"]),
    ],
);

const coverage = read("cldr-core/coverageLevels.json").effectiveCoverageLevels;
const DIRECTIONS = { "left-to-right": "ltr", "right-to-left": "rtl", "top-to-bottom": "ttb" };
const available = read("cldr-core/availableLocales.json").availableLocales.full;
// A default content locale (en-US) has nothing of its own: all it says is its parent's (en).
const defaults = read("cldr-core/defaultContent.json").defaultContent.map((locale) => {
    let content = locale;
    while (!available.includes(content)) content = content.slice(0, content.lastIndexOf("-"));
    return [locale, content];
});
write(
    "locales.tsv",
    "Every locale of CLDR, in lower case, how well CLDR covers it, and how its lines run.",
    [
        origin("cldr-core", "availableLocales.json"),
        origin("cldr-core", "defaultContent.json"),
        origin("cldr-core", "coverageLevels.json"),
        origin("cldr-misc-full", "main/*/layout.json"),
    ],
    ["locale", "coverage", "direction"],
    [...available.map((locale) => [locale, locale]), ...defaults].map(([locale, content]) => {
        const { characterOrder } = read("cldr-misc-full/main", content, "layout.json").main[content].layout.orientation;
        return [locale.toLowerCase(), coverage[content], DIRECTIONS[characterOrder]];
    }),
);

// A name that is no value of the extension's grammar cannot stand in a tag.
const isValue = (text) => /^[a-z0-9]{3,8}(-[a-z0-9]{3,8})*$/.test(text);
const keywords = [];
for (const file of readdirSync(join(sources, "node_modules/cldr-bcp47/bcp47"))) {
    const extensions = read("cldr-bcp47/bcp47", file).keyword;
    for (const [key, values] of Object.entries(extensions.u ?? {})) {
        for (const [name, value] of Object.entries(values)) {
            if (name.startsWith("_")) continue;
            const preferred = value._preferred ?? name;
            if (preferred !== name) keywords.push([key, name, preferred]);
            for (const alias of (value._alias ?? "").split(" ").filter(isValue)) {
                if (alias !== preferred) keywords.push([key, alias, preferred]);
            }
        }
    }
}
write(
    "keywords.tsv",
    "Values of Unicode extension keywords that are replaced.",
    [origin("cldr-bcp47", "bcp47/*.json")],
    ["key", "from", "to"],
    keywords,
);

copyFileSync(join(sources, "node_modules/cldr-core/LICENSE"), join(destination, "LICENSE-UNICODE"));
