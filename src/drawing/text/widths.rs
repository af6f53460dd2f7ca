//! Widths of the printable ASCII characters in the fonts Graphviz 16.1 knows by heart, read from `widths.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Widths of one font.
#[derive(Debug, Default)]
pub(super) struct Widths {
    /// Units of the em, the size of the font.
    pub units_per_em: u16,
    /// By style (regular, bold, italic, bold italic), then by character, from U+0020 to U+007E.
    pub styles: [Vec<u16>; 4],
}

#[derive(Default)]
struct Table {
    fonts: Vec<Widths>,
    /// The letters of names, in lower case, and which font each means.
    names: HashMap<&'static str, usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    let mut lines = include_str!("widths.txt").lines().filter(|line| !line.starts_with('#'));
    while let Some(line) = lines.next() {
        let mut words = line.split(' ');
        let units_per_em = words.next().and_then(|units| units.parse().ok()).unwrap_or_default();
        table.names.extend(words.map(|name| (name, table.fonts.len())));
        let mut row = || lines.next().unwrap_or_default().split(' ').filter_map(|width| width.parse().ok()).collect();
        table.fonts.push(Widths { units_per_em, styles: [row(), row(), row(), row()] });
    }
    table
});

/// The font of a name, given by its letters in lower case.
pub(super) fn named(letters: &str) -> Option<&'static Widths> {
    TABLE.names.get(letters).and_then(|index| TABLE.fonts.get(*index))
}

/// The font that stands in for all that are not known: Times.
pub(super) fn default() -> &'static Widths {
    static NONE: Widths = Widths { units_per_em: 1, styles: [Vec::new(), Vec::new(), Vec::new(), Vec::new()] };
    TABLE.fonts.first().unwrap_or(&NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_font_has_all_widths() {
        assert_eq!(TABLE.fonts.len(), 11);
        for font in &TABLE.fonts {
            assert!(font.units_per_em >= 1_000);
            assert!(font.styles.iter().all(|style| style.len() == 95), "{font:?}");
        }
        assert!(TABLE.names.keys().all(|name| name.chars().all(|c| c.is_ascii_lowercase())));
        assert!(std::ptr::eq(default(), named("timesroman").unwrap()));
    }
}
