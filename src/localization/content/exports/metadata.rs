//! What is told of each key of an export.

use quintet_platform::secrets::{Digest, digest};
use quintet_storage::Failure;

use super::choice::{Choice, Chosen, Wish};
use super::material::Material;
use crate::content::model::{Format, place_of};
use crate::content::translation::{Approval, State, Translated};
use crate::formats::{Content, Forms, Unit};
use crate::language::Category;

/// What is told of one key of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataEntry {
    /// The key, as the exported file has it.
    pub key: String,
    /// The hash of the source it was made from.
    pub source_sha256: Digest,
    /// The hash of what is exported.
    pub target_sha256: Digest,
    /// The translation's state.
    pub state: State,
    /// Its approval, as long as it is approved.
    pub approval: Option<Approval>,
}

impl Choice<'_> {
    /// The entry of a text that is exported; of a form, with its category.
    fn told(&self, key: String, category: Option<Category>, text: &str) -> MetadataEntry {
        let approval = self.row.and_then(|row| row.approved.clone());
        MetadataEntry {
            key,
            source_sha256: self.made_from(category).unwrap_or_else(|| digest(text.as_bytes())),
            target_sha256: digest(text.as_bytes()),
            state: self.state,
            approval: approval.filter(|_| self.state.name() == "approved"),
        }
    }

    /// The hash of the source that the translation was made from, used or not.
    fn made_from(&self, category: Option<Category>) -> Option<Digest> {
        match (self.row.map(|row| &row.content)?, category.map(place_of)) {
            (Translated::Text { source_sha256, .. }, None) => Some(*source_sha256),
            (Translated::Forms(forms), Some(place)) => {
                forms.iter().find(|form| form.category == place).map(|form| form.source_sha256)
            }
            _ => None,
        }
    }
}

impl Material<'_> {
    /// What is told of each key of the same export, in file order.
    ///
    /// # Errors
    /// As [`Base::document`](super::material::Base::document).
    pub fn metadata(&self, wish: &Wish) -> Result<Vec<MetadataEntry>, Failure> {
        let document = self.base.document()?;
        let mut entries = Vec::with_capacity(document.units().len());
        for unit in document.units() {
            let choice = self.choose(unit, wish);
            let text = |text: &str| vec![choice.told(unit.path().to_owned(), None, text)];
            let forms = |forms: &Forms| {
                let told = |(category, text): (&Category, &String)| {
                    choice.told(self.form_key(unit, category.name()), Some(*category), text)
                };
                forms.iter().map(told).collect()
            };
            entries.extend(match (&choice.chosen, unit.content()) {
                (Chosen::Omitted, _) if !unit.stays_when_omitted() => Vec::new(),
                (Chosen::Text(translated), _) => text(translated),
                (Chosen::Forms(translated), _) => forms(translated),
                (Chosen::Source | Chosen::Omitted, Content::Text(source)) => text(source),
                (Chosen::Source | Chosen::Omitted, Content::Plural(source)) => forms(source),
            });
        }
        Ok(entries)
    }

    /// The name of a plural's member, as the file has it.
    fn form_key(&self, unit: &Unit, category: &str) -> String {
        let joint = if self.base.file.format == Format::Json { '_' } else { '.' };
        format!("{}{joint}{category}", unit.path())
    }
}
