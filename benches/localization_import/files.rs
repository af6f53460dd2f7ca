//! Catalogues of 50,000 keys, the same in each format.

use std::fmt::Write as _;

/// How many keys there are; in the formats that have plurals, a fifth of them are some.
pub const KEYS: usize = 50_000;

const SECTION: usize = 50;

fn text(key: usize) -> String {
    match key % 4 {
        0 => format!("Label {key} of the settings page"),
        1 => format!("Hello %{{name}}, it's message {key}: see \"details\""),
        2 => format!("Größe {key} – ändern"),
        _ => format!("A longer explanation of what happens when option {key} is switched on, in one sentence or two."),
    }
}

fn is_plural(key: usize) -> bool {
    key % 5 == 4
}

/// Rails YAML: sections of 50 keys below the root `en`, in plain and double-quoted style.
pub fn rails() -> String {
    let mut out = String::from("en:\n");
    for key in 0..KEYS {
        if key % SECTION == 0 {
            writeln!(out, "  section_{}:", key / SECTION).unwrap();
        }
        let text = text(key).replace('"', "\\\"");
        if is_plural(key) {
            writeln!(out, "    key_{key}:\n      one: \"{text}\"\n      other: \"%{{count}} {text}\"").unwrap();
        } else if key % 4 == 0 {
            writeln!(out, "    key_{key}: {text}").unwrap();
        } else {
            writeln!(out, "    key_{key}: \"{text}\"").unwrap();
        }
    }
    out
}

/// Nested JSON, sections of 50 keys, i18next plurals.
pub fn json() -> String {
    let mut out = String::from("{\n");
    for key in 0..KEYS {
        if key % SECTION == 0 {
            writeln!(out, "  \"section_{}\": {{", key / SECTION).unwrap();
        }
        let text = text(key).replace('"', "\\\"");
        let comma = if key % SECTION == SECTION - 1 { "" } else { "," };
        if is_plural(key) {
            writeln!(
                out,
                "    \"key_{key}_one\": \"{text}\",\n    \"key_{key}_other\": \"{{{{count}}}} {text}\"{comma}"
            )
            .unwrap();
        } else {
            writeln!(out, "    \"key_{key}\": \"{text}\"{comma}").unwrap();
        }
        if comma.is_empty() {
            writeln!(out, "  }}{}", if key + 1 == KEYS { "" } else { "," }).unwrap();
        }
    }
    out.push_str("}\n");
    out
}

/// Java properties in UTF-8.
pub fn properties() -> String {
    let mut out = String::new();
    for key in 0..KEYS {
        if key % SECTION == 0 {
            writeln!(out, "\n# Section {}", key / SECTION).unwrap();
        }
        writeln!(out, "section_{}.key_{key} = {}", key / SECTION, text(key)).unwrap();
    }
    out
}
