//! Colours as Graphviz reads them: names of X11, SVG and Brewer's schemes, `#rrggbb`, hue-saturation-value, and lists.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::ink::Color;
use crate::graph::values::leading_number;
use crate::warnings::Warnings;

/// What the names mean; read off Graphviz 16.1.
const NAMES: &str = include_str!("color_names.txt");

/// Where the names of SVG mean something else than those of X11.
const SVG_NAMES: [(&str, [u8; 3]); 5] = [
    ("gray", [0x80, 0x80, 0x80]),
    ("green", [0x00, 0x80, 0x00]),
    ("grey", [0x80, 0x80, 0x80]),
    ("maroon", [0x80, 0x00, 0x00]),
    ("purple", [0x80, 0x00, 0x80]),
];

/// All names, read once.
struct Table {
    /// Each with whether SVG knows it.
    plain: HashMap<&'static str, ([u8; 3], bool)>,
    /// The colours of a scheme, from its first.
    schemes: HashMap<&'static str, Vec<[u8; 3]>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { plain: HashMap::new(), schemes: HashMap::new() };
    for line in NAMES.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let Some(name) = words.next() else { continue };
        match name.strip_prefix('/') {
            Some(scheme) => {
                table.schemes.insert(scheme, words.filter_map(hexadecimal).collect());
            }
            None => {
                if let Some(rgb) = words.next().and_then(hexadecimal) {
                    table.plain.insert(name, (rgb, words.next().is_some()));
                }
            }
        }
    }
    table
});

fn hexadecimal(text: &str) -> Option<[u8; 3]> {
    let number = u32::from_str_radix(text, 16).ok()?;
    let [_, r, g, b] = number.to_be_bytes();
    Some([r, g, b])
}

/// What is painted where a name is unknown: black, but not by name.
pub const UNKNOWN: Color = Color { rgba: [0, 0, 0, 255], name: None };

/// A colour that cannot be seen.
pub const TRANSPARENT: Color = Color { rgba: [255, 255, 254, 0], name: None };

/// The colour that `text` names, in the scheme of `colorscheme`. `None` if it names none.
pub fn parse(text: &str, scheme: &str) -> Option<Color> {
    if let Some(digits) = text.strip_prefix('#')
        && let Some(color) = from_digits(digits)
    {
        return Some(color);
    }
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && let Some(color) = from_hsv(text)
    {
        return Some(color);
    }
    let (scheme, name) = match text.strip_prefix('/') {
        None => (scheme, text),
        Some(rest) => match rest.split_once('/') {
            None => ("", rest),
            // Two slashes: the scheme that holds.
            Some(("", name)) => (scheme, name),
            Some((scheme, name)) => (scheme, name),
        },
    };
    let (scheme, lower) = (scheme.to_ascii_lowercase(), name.to_ascii_lowercase());
    match scheme.as_str() {
        "" | "x11" | "svg" => {}
        scheme => {
            let index: usize = name.parse().ok()?;
            let rgb = TABLE.schemes.get(scheme)?.get(index.checked_sub(1)?)?;
            return Some(opaque(*rgb, None));
        }
    }
    if matches!(lower.as_str(), "transparent" | "none" | "invis") {
        return Some(TRANSPARENT);
    }
    let (mut rgb, is_svg) = *TABLE.plain.get(lower.as_str())?;
    if scheme == "svg"
        && let Some((_, other)) = SVG_NAMES.iter().find(|(name, _)| *name == lower)
    {
        rgb = *other;
    }
    // A name that was written with its scheme is written out as numbers.
    let is_named = is_svg && !text.starts_with('/');
    Some(opaque(rgb, is_named.then(|| name.to_owned())))
}

fn opaque([r, g, b]: [u8; 3], name: Option<String>) -> Color {
    Color { rgba: [r, g, b, 255], name }
}

/// `rrggbb` or `rrggbbaa`, each part of one or two digits at the end; or `rgb`.
fn from_digits(digits: &str) -> Option<Color> {
    let digits: String = digits.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    if !digits.is_ascii() || digits.len() > 8 {
        return None;
    }
    let part = |text: &str| u8::from_str_radix(text, 16).ok();
    let [mut r, mut g, mut b, mut a] = [0, 0, 0, 255];
    match digits.len() {
        3 => {
            let parts: Option<Vec<u8>> = digits.chars().map(|c| part(&format!("{c}{c}"))).collect();
            if let [x, y, z] = parts?.as_slice() {
                (r, g, b) = (*x, *y, *z);
            }
        }
        5..=8 => {
            r = part(digits.get(0..2)?)?;
            g = part(digits.get(2..4)?)?;
            b = part(digits.get(4..digits.len().min(6))?)?;
            if digits.len() > 6 {
                a = part(digits.get(6..)?)?;
            }
        }
        _ => return None,
    }
    Some(Color { rgba: [r, g, b, a], name: None })
}

/// Hue, saturation, value, and perhaps how opaque: numbers from 0 to 1 with blanks or commas between them.
fn from_hsv(text: &str) -> Option<Color> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some((number, after)) = leading_number(rest) {
        numbers.push(number.clamp(0.0, 1.0));
        rest = after.trim_start_matches([' ', ',', '\t']);
    }
    let (h, s, v, a) = match numbers.as_slice() {
        [h, s, v] => (*h, *s, *v, 1.0),
        [h, s, v, a] => (*h, *s, *v, *a),
        _ => return None,
    };
    let sixth = if h >= 1.0 { 0.0 } else { 6.0 * h };
    let f = sixth.fract();
    let (p, q, t) = (v * (1.0 - s), v * (1.0 - s * f), v * (1.0 - s * (1.0 - f)));
    let (r, g, b) = match sixth as u8 {
        0 => (v, t, p),
        1 => (q, v, p),
        2 => (p, v, t),
        3 => (p, q, v),
        4 => (t, p, v),
        _ => (v, p, q),
    };
    let byte = |share: f64| (share * 255.0) as u8;
    Some(Color { rgba: [byte(r), byte(g), byte(b), byte(a)], name: None })
}

/// [`parse`], with Graphviz's warning and black for what is no colour.
pub fn parse_or_black(text: &str, scheme: &str, warnings: &mut Warnings) -> Color {
    parse(text, scheme).unwrap_or_else(|| {
        warnings.push(format!("{text} is not a known color."));
        UNKNOWN
    })
}

/// A part of a list of colours: `red;0.3:blue`.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The colour.
    pub color: Color,
    /// Its share of the whole, as written.
    pub share: Option<f64>,
}

/// The most colours of a list; more are not read.
const MOST_COLORS: usize = 256;

/// The colours of a list. A list of one is a single colour.
pub fn parse_list(text: &str, scheme: &str, warnings: &mut Warnings) -> Vec<Share> {
    let parts = text.split(':').take(MOST_COLORS);
    parts
        .map(|part| match part.split_once(';') {
            Some((name, share)) => Share {
                color: parse_or_black(name, scheme, warnings),
                share: leading_number(share).map(|(share, _)| share.clamp(0.0, 1.0)),
            },
            None => Share { color: parse_or_black(part, scheme, warnings), share: None },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_what_graphviz_makes_of_them() {
        for (text, scheme, rgba, name) in [
            ("red", "", [255, 0, 0, 255], Some("red")),
            ("LightGrey", "", [0xd3, 0xd3, 0xd3, 255], Some("LightGrey")),
            ("ReD4", "", [0x8b, 0, 0, 255], None),
            ("green", "", [0, 255, 0, 255], Some("green")),
            ("green", "svg", [0, 128, 0, 255], Some("green")),
            ("/svg/green", "", [0, 128, 0, 255], None),
            ("//green", "svg", [0, 128, 0, 255], None),
            ("/Blues9/9", "", [0x08, 0x30, 0x6b, 255], None),
            ("3", "blues9", [0xc6, 0xdb, 0xef, 255], None),
            ("transparent", "", [255, 255, 254, 0], None),
            ("#FF00007f", "", [255, 0, 0, 127], None),
            ("#f80", "", [255, 0x88, 0, 255], None),
            ("#12345", "", [0x12, 0x34, 0x05, 255], None),
            ("#ff 00 00", "", [255, 0, 0, 255], None),
            ("0.5 1 1", "", [0, 255, 255, 255], None),
            ("0.5,0.3,0.2", "", [0x23, 0x33, 0x33, 255], None),
            ("0.1 0.2 0.3 0.4", "", [0x4c, 0x46, 0x3d, 0x66], None),
            ("1.0 2 -1", "", [0, 0, 0, 255], None),
        ] {
            let expected = Color { rgba, name: name.map(str::to_owned) };
            assert_eq!(parse(text, scheme), Some(expected), "{text}");
        }
        for text in ["foo", "red ", "/foo/red", "/accent3/4", "/accent3/0", "#f008", "#ggg", "#é", "1", "0.4 0.7", ""]
        {
            assert_eq!(parse(text, ""), None, "{text}");
        }
    }

    #[test]
    fn lists_have_shares() {
        let mut warnings = Warnings::default();
        let list = parse_list("red;0.3:foo", "", &mut warnings);
        assert_eq!(list.iter().map(|part| part.share).collect::<Vec<_>>(), [Some(0.3), None]);
        assert_eq!(*warnings, ["foo is not a known color."]);
    }
}
