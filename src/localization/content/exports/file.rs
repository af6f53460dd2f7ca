//! The file in a locale.

use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure};

use super::choice::{Chosen, Fallback, Wish};
use super::material::{Base, Material};
use crate::content::model::Format;
use crate::formats::{self, Code, Document, Edit, ExportRefusal, READING_SECONDS_MAX};
use crate::refusal::Refusal;

/// How long reading and writing a file may take.
const TIME: Duration = Duration::from_secs(READING_SECONDS_MAX);

impl Material<'_> {
    /// The file in a locale; in its source without one.
    ///
    /// # Errors
    /// As [`Material::file_of`] and [`Base::document`].
    pub fn file(&self, wish: Option<&Wish>) -> Result<Vec<u8>, Abort<Refusal>> {
        match wish {
            Some(wish) => self.file_of(&self.base.document()?, wish),
            None => Ok(self.base.original.clone()),
        }
    }

    /// The file in a locale, once it has been read.
    ///
    /// # Errors
    /// [`Refusal::ValueUnrepresentable`]; [`Failure::Busy`] if it took too long, [`Failure::Damaged`] if the stored file
    /// cannot be written as it should.
    pub fn file_of(&self, document: &Document<'_>, wish: &Wish) -> Result<Vec<u8>, Abort<Refusal>> {
        let file = &self.base.file;
        let chosen: Vec<Chosen<'_>> = document.units().iter().map(|unit| self.choose(unit, wish).chosen).collect();
        let edits: Vec<Edit<'_>> = chosen
            .iter()
            .map(|chosen| match chosen {
                Chosen::Source => Edit::Keep,
                Chosen::Omitted => Edit::Omit,
                Chosen::Text(text) => Edit::Text(text),
                Chosen::Forms(forms) => Edit::Forms(forms),
            })
            .collect();
        let root = (file.format == Format::YamlRails).then(|| wish.locale.canonical());
        document.export(root, &edits, Instant::now() + TIME).map_err(|refusal| match refusal {
            ExportRefusal::ValueUnrepresentable(_) => Abort::Refused(Refusal::ValueUnrepresentable),
            ExportRefusal::Timeout => Abort::Failed(Failure::Busy),
            ExportRefusal::EditMismatch(_) | ExportRefusal::Unfaithful => {
                Abort::Failed(Failure::Damaged(format!("file {} cannot be exported: {refusal}", file.file_id.0)))
            }
        })
    }
}

impl Base {
    /// The file as it was uploaded, read.
    ///
    /// # Errors
    /// [`Failure::Busy`] if it took too long, [`Failure::Damaged`] if it cannot be read.
    pub fn document(&self) -> Result<Document<'_>, Failure> {
        let kind = self.file.format.kind(&self.file.root_locale);
        formats::read(kind, &self.original, Instant::now() + TIME).map_err(|refusal| match refusal.code {
            Code::ParseTimeout => Failure::Busy,
            // It was read when it was uploaded.
            _ => Failure::Damaged(format!("file {} cannot be read: {refusal}", self.file.file_id.0)),
        })
    }
}

impl Wish {
    /// Whether a file of this kind can be exported so.
    ///
    /// # Errors
    /// [`Refusal::UnprocessableParameter`] for an omission in a file that is no JSON.
    pub fn check(fallback: Fallback, format: Format) -> Result<(), Refusal> {
        if fallback == Fallback::Omit && format != Format::Json {
            return Err(Refusal::UnprocessableParameter("fallback", "omit is for JSON files only"));
        }
        Ok(())
    }
}
