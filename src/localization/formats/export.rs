//! Writing a file again: the stored bytes, with the ranges of changed values replaced.
//!
//! A [`Plan`] collects which bytes give way to what, and what a reader must find afterwards. The bytes are put
//! together, read again and compared with that before anybody gets them.

use std::time::Instant;

use super::budget::Budget;
use super::bytes::part;
use super::model::{Content, Document, Family, Forms, Kind, Leaf, Parts, Style, Unit, is_representable};
use super::plan::{Plan, leaf_texts};
use super::read::scan;
use super::refusal::Code;
use super::{json, properties, yaml};
use crate::language::Category;

/// What becomes of a unit in an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'e> {
    /// Its bytes stay as they are.
    Keep,
    /// A text unit's value, written in the style of the old one where that can hold it.
    Text(&'e str),
    /// A plural's forms: the plural gets exactly these members, in CLDR's order; `other` must be among them.
    Forms(&'e Forms),
    /// The member goes, with one comma and no other byte. Of a JSON file alone; an element of an array stays
    /// ([`super::Unit::stays_when_omitted`]).
    Omit,
}

/// Why a file was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportRefusal {
    /// The edit of the unit of that index does not fit: forms for a text, a text for a plural, forms without `other`,
    /// an omission in another kind of file; or there is not one edit for each unit. A mistake of the caller.
    #[error("the edit of unit {0} does not fit it")]
    EditMismatch(usize),
    /// The value of the unit of that index holds U+0000 ([`super::is_representable`]).
    #[error("the value of unit {0} cannot be written into a file")]
    ValueUnrepresentable(usize),
    /// The deadline passed.
    #[error("writing the file took too long")]
    Timeout,
    /// What was written does not read as what was meant. Never served; a fault of this module.
    #[error("the written file does not read as what was meant")]
    Unfaithful,
}

impl Document<'_> {
    /// Writes the file again, with one edit for each unit, in their order. `root` is the new root key of a rails file
    /// (the target's canonical tag); `None` keeps the old one, and other kinds have none.
    ///
    /// A value that already says what it should keeps its bytes. Without any change the bytes are the file's own.
    ///
    /// # Errors
    /// See [`ExportRefusal`].
    pub fn export(&self, root: Option<&str>, edits: &[Edit<'_>], deadline: Instant) -> Result<Vec<u8>, ExportRefusal> {
        let units = self.units.len();
        if edits.len() != units {
            return Err(ExportRefusal::EditMismatch(edits.len().min(units)));
        }
        for (index, edit) in edits.iter().enumerate() {
            check(self, index, edit)?;
        }
        let plan = plan_of(self, root, edits);
        let written = plan.apply().ok_or(ExportRefusal::Unfaithful)?;
        // Bytes that were no UTF-8 may be by accident once the values that were not are gone.
        let ambiguous = self.scan.latin1 && !written.is_ascii() && std::str::from_utf8(&written).is_ok();
        if !ambiguous {
            return verified(&plan, written, root, deadline);
        }
        let mut plan = plan_of(self, root, edits);
        escape_kept(&mut plan);
        let written = plan.apply().ok_or(ExportRefusal::Unfaithful)?;
        verified(&plan, written, root, deadline)
    }
}

fn check(document: &Document<'_>, index: usize, edit: &Edit<'_>) -> Result<(), ExportRefusal> {
    let content = document.units.get(index).map(Unit::content);
    let fits = match (edit, content) {
        (Edit::Keep, _) | (Edit::Text(_), Some(Content::Text(_))) => true,
        (Edit::Forms(forms), Some(Content::Plural(_))) => forms.contains_key(&Category::Other),
        (Edit::Omit, _) => document.family == Family::Json,
        _ => false,
    };
    if !fits {
        return Err(ExportRefusal::EditMismatch(index));
    }
    let representable = match edit {
        Edit::Text(text) => is_representable(text),
        Edit::Forms(forms) => forms.values().all(|form| is_representable(form)),
        Edit::Keep | Edit::Omit => true,
    };
    if representable { Ok(()) } else { Err(ExportRefusal::ValueUnrepresentable(index)) }
}

/// What the edits come to.
fn plan_of<'d, 'e>(document: &'d Document<'d>, root: Option<&str>, edits: &[Edit<'e>]) -> Plan<'d, 'e> {
    let ascii = match document.family {
        // What a program reads that knows neither UTF-8 nor the file's history.
        Family::Properties => document.scan.latin1 || document.bytes.is_ascii(),
        // A file of ASCII with escapes is meant to stay one; a file without any says nothing about it.
        _ => document.bytes.is_ascii() && document.units.iter().any(|unit| !is_ascii(unit.content())),
    };
    let mut plan = Plan::new(document, ascii);
    let mut omitted = vec![false; document.scan.members.len()];
    let mut retired = vec![false; document.scan.members.len()];
    for ((unit, parts), edit) in document.units.iter().zip(&document.parts).zip(edits) {
        match (edit, parts, unit.content()) {
            (Edit::Text(text), Parts::Text(leaf), Content::Text(old)) if text != old => write(&mut plan, *leaf, text),
            (Edit::Forms(forms), Parts::Plural(members), Content::Plural(old)) if *forms != old => {
                for (category, leaf) in members {
                    match forms.get(category) {
                        Some(text) if old.get(category) != Some(text) => write(&mut plan, *leaf, text),
                        _ => {}
                    }
                }
                match document.family {
                    Family::Json => json::rewrite_plural(&mut plan, members, forms, &mut retired),
                    _ => yaml::rewrite_plural(&mut plan, members, forms),
                }
            }
            (Edit::Omit, Parts::Text(leaf), _) => omit(&mut plan, *leaf, &mut omitted),
            (Edit::Omit, Parts::Plural(members), _) => {
                members.iter().for_each(|(_, leaf)| omit(&mut plan, *leaf, &mut omitted));
            }
            _ => {}
        }
    }
    json::omit(&mut plan, &omitted, &retired);
    if let (Some(name), Some(range)) = (root, &document.scan.root) {
        let written = yaml::write_key(document.bytes, range, name);
        if written.as_bytes() != part(document.bytes, range.clone()) {
            plan.replace(range.clone(), written);
        }
    }
    plan
}

/// A text in the style of a leaf.
fn written(plan: &Plan<'_, '_>, leaf: &Leaf, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    match leaf.style {
        Style::Json { .. } => json::write_string(&mut out, text, plan.ascii, plan.document.scan.escaped_slashes),
        Style::Property(separator) => properties::write_value(&mut out, text, separator, plan.ascii),
        _ => yaml::write_value(&mut out, plan.document.bytes, leaf, text, plan.ascii),
    }
    out
}

fn write<'e>(plan: &mut Plan<'_, 'e>, index: usize, text: &'e str) {
    let Some(leaf) = plan.leaf(index) else { return };
    let written = written(plan, leaf, text);
    plan.write(index, written, text);
}

fn omit(plan: &mut Plan<'_, '_>, leaf: usize, omitted: &mut [bool]) {
    let Some(Style::Json { member: Some(member) }) = plan.leaf(leaf).map(|leaf| leaf.style) else { return };
    if let Some(flag) = omitted.get_mut(member) {
        *flag = true;
        plan.forget(leaf);
    }
}

/// Escapes keys and kept values of a properties file, too.
fn escape_kept(plan: &mut Plan<'_, '_>) {
    for (index, text) in leaf_texts(plan.document).into_iter().enumerate() {
        let Some(leaf) = plan.leaf(index) else { continue };
        if !leaf.path.is_ascii() {
            plan.replace(leaf.key.clone(), properties::written_key(&leaf.path));
        }
        if plan.is_kept(index) && !text.is_ascii() {
            plan.replace(leaf.value.clone(), written(plan, leaf, text));
        }
    }
}

/// Reads what was written, and hands it out if it says what it should.
fn verified(
    plan: &Plan<'_, '_>,
    written: Vec<u8>,
    root: Option<&str>,
    deadline: Instant,
) -> Result<Vec<u8>, ExportRefusal> {
    if plan.is_empty() {
        return Ok(written);
    }
    let kind = match plan.document.family {
        Family::Json => Kind::Json,
        Family::Properties => Kind::Properties,
        Family::Flat => Kind::Flat,
        Family::Rails => Kind::Rails { root: root.unwrap_or(&plan.document.root) },
    };
    let found = scan(kind, &written, &mut Budget::for_written(deadline)).map_err(|offence| match offence.code {
        Code::ParseTimeout => ExportRefusal::Timeout,
        _ => ExportRefusal::Unfaithful,
    })?;
    let meant = plan.meant();
    let same = found.leaves.len() == meant.len()
        && found.leaves.iter().zip(&meant).all(|(leaf, (path, text))| leaf.path == *path && leaf.text == *text);
    if same { Ok(written) } else { Err(ExportRefusal::Unfaithful) }
}

fn is_ascii(content: &Content) -> bool {
    match content {
        Content::Text(text) => text.is_ascii(),
        Content::Plural(forms) => forms.values().all(|form| form.is_ascii()),
    }
}
