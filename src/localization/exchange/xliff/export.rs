//! The way out: a file's keys with their translations, piece by piece.

use quintet_storage::{Abort, Read};

use crate::content::{
    FileId, ReviewState, State, Translated, TranslationRow, Walk, Walked, category_at, find_context, key_id, state_of,
};
use crate::formats::xliff::{File, Pair, Progress, Version, Writer, Written, WrittenUnit};
use crate::language::{Category, Locale};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::shelf::Shelf;

/// What is written.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Whose.
    pub tenant_id: TenantId,
    /// Which file.
    pub file_id: FileId,
    /// Its path.
    pub path: String,
    /// What its keys' ids begin with.
    pub key_prefix: u64,
    /// The tag of its sources.
    pub source_tag: String,
    /// Into which locale.
    pub locale: Locale,
    /// How.
    pub version: Version,
}

/// A document on its way out.
pub struct Export {
    shape: Shape,
    /// None before the first piece and behind the last.
    writer: Option<Writer>,
    /// Behind which key to go on.
    after: u64,
    is_over: bool,
}

impl Export {
    /// Nothing is written yet.
    #[must_use]
    pub fn of(shape: Shape) -> Export {
        Export { shape, writer: None, after: 0, is_over: false }
    }

    /// The next piece; `None` at the end. Each is read in a state of its own: a document may take longer to send than one
    /// state can be looked at. Keys keep their numbers, so none is missed, and none comes twice.
    ///
    /// # Errors
    /// Only the store's.
    pub fn next(&mut self, read: &impl Read, shelf: &Shelf) -> Result<Option<String>, Abort<Refusal>> {
        if self.is_over {
            return Ok(None);
        }
        let mut piece = String::new();
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.begin(&mut piece),
        };
        let walk = Walk::of(read, self.shape.tenant_id, self.shape.file_id, Some(&self.shape.locale))?;
        let (walked, behind) = walk.next(read, self.after, u64::MAX)?;
        for key in walked.iter().filter(|key| !key.entry.is_obsolete) {
            let told = find_context(read, shelf, self.shape.tenant_id, self.shape.file_id, &key.entry.path)?;
            self.push(&mut writer, &mut piece, key, told.and_then(|told| told.context).as_deref());
        }
        match behind {
            Some(after) => {
                self.after = after;
                self.writer = Some(writer);
            }
            None => {
                writer.end(&mut piece);
                self.is_over = true;
            }
        }
        Ok(Some(piece))
    }

    fn begin(&self, piece: &mut String) -> Writer {
        let shape = &self.shape;
        let file = File {
            id: &shape.file_id.0.to_string(),
            path: &shape.path,
            source_language: &shape.source_tag,
            target_language: shape.locale.canonical(),
        };
        Writer::begin(piece, shape.version, &file)
    }

    fn push(&self, writer: &mut Writer, piece: &mut String, key: &Walked, note: Option<&str>) {
        let Walked { entry, row } = key;
        let id = key_id(self.shape.key_prefix, entry.number).0.to_string();
        let pair = |category: Category, target| Pair { source: entry.source.form(category), target };
        let content = match entry.source.is_plural() {
            false => Written::Text(pair(Category::Other, text_of(row.as_ref()))),
            true => {
                let categories = self.shape.locale.cardinal().iter();
                let form = |category: Category| (category.name(), pair(category, form_of(row.as_ref(), category)));
                Written::Plural(categories.map(form).collect())
            }
        };
        let progress = progress_of(state_of(entry, row.as_ref()));
        writer.unit(piece, &WrittenUnit { id: &id, path: &entry.path, note, progress, content });
    }
}

/// A translation's text; what was written while its key was a plural has none.
fn text_of(row: Option<&TranslationRow>) -> Option<&str> {
    match &row?.content {
        Translated::Text { text, .. } => Some(text),
        Translated::Forms(_) => None,
    }
}

/// A translation's form.
fn form_of(row: Option<&TranslationRow>, category: Category) -> Option<&str> {
    match &row?.content {
        Translated::Text { .. } => None,
        Translated::Forms(forms) => {
            let form = forms.iter().find(|form| category_at(form.category) == category);
            form.map(|form| form.text.as_str())
        }
    }
}

const fn progress_of(state: State) -> Progress {
    match state {
        State::Stored(ReviewState::Reviewed) => Progress::Reviewed,
        State::Stored(ReviewState::Approved) => Progress::Approved,
        State::Outdated => Progress::Outdated,
        State::Untranslated | State::Stored(ReviewState::Draft | ReviewState::NeedsAttention) => Progress::Draft,
    }
}
