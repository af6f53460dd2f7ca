//! Where in a file's keys texts are that are looked for: found when the first locale is judged anew, and asked by the others.

use std::sync::Arc;

use quintet_platform::secrets::digest_parts;

use super::touch::{Need, Touch};
use crate::content::{CatalogueRow, KeyEntry, PageRange};
use crate::shelf::{Name, Shelf};

/// Which active keys of a catalogue have any of the texts that a cause looks for in their source, as far as the catalogue
/// has been read. At most two megabytes: of the 200,000 keys that a file may have.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    /// What it is kept under; `None`: nothing is looked for in sources.
    name: Option<Name>,
    /// Up to which number it is known.
    upto: u64,
    numbers: Vec<u64>,
    has_changed: bool,
}

impl Sought {
    /// As far as it is known.
    pub fn of(shelf: &Shelf, catalogue: &CatalogueRow, touch: &Touch) -> Sought {
        let Touch::Texts(in_source, _) = touch else { return Sought::default() };
        let texts: Vec<&[u8]> = in_source.iter().map(String::as_bytes).collect();
        let content = catalogue.value.sha256.first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
        let name = Name { content, part: data_encoding::HEXLOWER.encode(&digest_parts(&texts)) };
        let known = shelf.get::<Sought>(&name).map_or_else(Sought::default, |known| Sought::clone(&known));
        Sought { name: Some(name), has_changed: false, ..known }
    }

    /// Keeps it for the next locale.
    pub fn keep(mut self, shelf: &Shelf) {
        let Some(name) = self.name.take().filter(|_| self.has_changed) else { return };
        let bytes = size_of::<Sought>() + self.numbers.capacity() * size_of::<u64>();
        shelf.put(name, &Arc::new(self), bytes);
    }

    /// Whether any of them is in a page; `None`: it has not been read.
    pub fn is_in(&self, page: &PageRange) -> Option<bool> {
        let first = self.numbers.partition_point(|number| *number < page.first);
        (page.end <= self.upto + 1).then(|| self.numbers.get(first).is_some_and(|number| *number < page.end))
    }

    /// Notes the keys of a page, which is the next one or was noted before.
    pub fn note(&mut self, page: &PageRange, entries: &[KeyEntry], touch: &Touch) {
        if self.name.is_none() || page.first > self.upto + 1 || page.end <= self.upto + 1 {
            return;
        }
        let active = entries.iter().filter(|entry| !entry.is_obsolete && entry.number > self.upto);
        self.numbers.extend(active.filter(|entry| touch.need(&entry.source) == Need::Always).map(|entry| entry.number));
        self.upto = page.end - 1;
        self.has_changed = true;
    }
}
