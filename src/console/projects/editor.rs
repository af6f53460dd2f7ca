//! The editor: the strip, and the string that is worked on.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::response::Response;
use http::StatusCode;
use quintet_localization::language::{Direction, Locale};
use quintet_localization::quality::folded;
use quintet_platform::http::query::encode_segment;

use super::filters::{Filters, Place, STATES};
use super::outcome::Outcome;
use super::texts::{Chipped, Field, SourceForm, fields, in_short, source_forms};
use super::wire::{
    Annotations, Check, File, Files, Key, Listed, Project, Suggestion, Suggestions, Term, Terms, Translation,
    Translations,
};
use crate::console::address::query;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Asking, Refused, Room};
use crate::console::visitor::Member;

/// Terms of a glossary that are looked through; beyond them the check of terms (Q09) still knows all.
const TERMS_READ_MAX: usize = 500;

/// A locale as pages have it.
pub struct Written {
    /// Its tag.
    pub tag: String,
    /// `ltr` or `rtl`.
    pub direction: &'static str,
}

impl Written {
    fn of(tag: &str) -> Written {
        let direction = match Locale::parse(tag).map(|locale| locale.direction()) {
            Ok(Direction::RightToLeft) => "rtl",
            _ => "ltr",
        };
        Written { tag: tag.to_owned(), direction }
    }
}

/// A string of the strip.
struct Row {
    key: String,
    revision: u64,
    address: String,
    path: String,
    source: String,
    text: String,
    state: String,
    failed: String,
    is_current: bool,
}

/// What was said before, beside the string.
struct Offer {
    number: usize,
    score: u32,
    source: String,
    target: String,
    address: String,
}

/// The string that is worked on.
struct StringView {
    key: Key,
    source: Vec<SourceForm>,
    fields: Vec<Field>,
    translation: Translation,
    failed: Vec<Check>,
    offers: Vec<Offer>,
    terms: Vec<Term>,
    previous: Option<String>,
    next: Option<String>,
    next_key: String,
    is_changed_meanwhile: bool,
    refused: Option<Refused>,
}

/// The page.
#[derive(Template)]
#[template(path = "editor.html", config = "assets/console/askama.toml")]
struct EditorPage {
    frame: Frame,
    project: Project,
    project_address: String,
    path: String,
    source: Written,
    target: Written,
    filters: Filters,
    states: [&'static str; 6],
    files: Vec<File>,
    rows: Vec<Row>,
    first: Option<String>,
    more: Option<String>,
    outcome: Option<Outcome>,
    string: Option<StringView>,
    once: String,
}

/// What the page is to show of the string, besides what is stored.
#[derive(Default)]
pub struct Wanted {
    /// Which string; none: the first of the strip.
    pub key: Option<String>,
    /// The suggestion that is taken over, from 1.
    pub take: Option<usize>,
    /// What was typed and could not be stored, by the fields' names.
    pub typed: Option<BTreeMap<String, String>>,
    /// Whether that was because somebody else was faster.
    pub is_changed_meanwhile: bool,
    /// Why it was refused.
    pub refused: Option<Refused>,
    /// What came of a bulk action.
    pub outcome: Option<Outcome>,
}

/// The page.
pub async fn show(
    member: Member,
    Path((project, locale)): Path<(String, String)>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let mut asked = query(raw.as_deref())?;
    let filters = Filters::take(&mut asked);
    let take = asked.take("take").and_then(|text| text.parse().ok());
    let wanted = Wanted { key: asked.take("key").filter(|key| !key.is_empty()), take, ..Wanted::default() };
    page(member, Place { project, locale }, filters, wanted).await
}

/// The page with what is wanted.
pub async fn page(member: Member, place: Place, filters: Filters, wanted: Wanted) -> Result<Response, Notice> {
    let asking = member.asking.clone();
    let base = format!("/v1/projects/{}", encode_segment(&place.project));
    let project: Project = asking.get(Room::Localization, &base).await?;
    let files: Files = asking.get(Room::Localization, &format!("{base}/files?limit=200")).await?;
    let strip: Translations = asking.get(Room::Localization, &place.strip(&filters)).await?;
    let key = wanted.key.clone().or_else(|| strip.translations.first().map(|first| first.key_id.clone()));
    let mut wanted = wanted;
    let outcome = wanted.outcome.take();
    let status =
        if wanted.refused.is_some() || wanted.is_changed_meanwhile { StatusCode::CONFLICT } else { StatusCode::OK };
    let string = match &key {
        Some(key) => Some(string(&asking, (&place, &filters, &strip), key, wanted).await?),
        None => None,
    };
    // A key of another project is none of this page's.
    if string.as_ref().is_some_and(|string| string.key.project_id != project.id) {
        return Err(Notice::NotFound);
    }
    let rows = strip.translations.into_iter().map(|listed| row(&place, &filters, listed, key.as_deref())).collect();
    let page = EditorPage {
        frame: member.frame,
        project_address: format!("/projects/{}", encode_segment(&project.id)),
        path: place.path(),
        source: Written::of(&project.source_locale),
        target: Written::of(&place.locale),
        states: STATES,
        files: files.files,
        rows,
        first: filters.cursor.is_some().then(|| place.editor(&filters.from(None), None)),
        more: strip.next_cursor.map(|cursor| place.editor(&filters.from(Some(cursor)), None)),
        filters,
        outcome,
        string,
        once: form::once(),
        project,
    };
    Ok(answer(status, &page))
}

fn row(place: &Place, filters: &Filters, listed: Listed, current: Option<&str>) -> Row {
    Row {
        address: place.editor(filters, Some(&listed.key_id)),
        source: in_short(listed.source.as_deref(), listed.source_forms.as_ref()),
        text: in_short(listed.text.as_deref(), listed.forms.as_ref()),
        is_current: current == Some(listed.key_id.as_str()),
        key: listed.key_id,
        revision: listed.revision,
        path: listed.path,
        state: listed.state,
        failed: listed.failed.join(", "),
    }
}

/// The string with all that stands beside it.
async fn string(
    asking: &Asking,
    (place, filters, strip): (&Place, &Filters, &Translations),
    key_id: &str,
    wanted: Wanted,
) -> Result<StringView, Notice> {
    let key: Key = asking.get(Room::Localization, &format!("/v1/keys/{}", encode_segment(key_id))).await?;
    let translation: Translation = asking.get(Room::Localization, &place.of_key(key_id, "translations")).await?;
    let annotations: Annotations = asking.get(Room::Localization, &place.of_key(key_id, "annotations")).await?;
    let suggestions: Suggestions = asking.get(Room::Localization, &place.of_key(key_id, "suggestions")).await?;
    let source = source_forms(key.source.clone(), key.forms.clone());
    let terms = terms(asking, place, &source).await?;
    let locale = Locale::parse(&place.locale).map_err(|_| Notice::NotFound)?;
    let taken = wanted.take.and_then(|number| suggestions.suggestions.get(number.checked_sub(1)?));
    let (taken, is_plural) = (taken.map(|taken| taken.target.clone()), key.source.is_none());
    let stored = |category: &str| stored(&translation, category);
    let mut fields = fields(&locale, is_plural, |category| {
        let name = if category.is_empty() { "text".to_owned() } else { format!("form.{category}") };
        match (&wanted.typed, &taken) {
            (Some(typed), _) => typed.get(&name).cloned().unwrap_or_default(),
            // Of a plural the suggestion is one for the form `other`.
            (None, Some(taken)) if category.is_empty() || category == "other" => taken.clone(),
            (None, _) => stored(category),
        }
    });
    if wanted.is_changed_meanwhile {
        for field in &mut fields {
            field.other = Some(stored(&field.category)).filter(|other| *other != field.text);
        }
    }
    let at = strip.translations.iter().position(|listed| listed.key_id == key_id);
    // Where the string has left the list since, its first one is next.
    let next = strip.translations.get(at.map_or(0, |at| at + 1)).map(|listed| listed.key_id.clone());
    let previous = at.and_then(|at| strip.translations.get(at.checked_sub(1)?)).map(|listed| listed.key_id.as_str());
    Ok(StringView {
        source,
        fields,
        failed: annotations.checks.into_iter().filter(|check| check.status == "fail").collect(),
        offers: offers(suggestions.suggestions, place, filters, key_id),
        terms,
        previous: previous.map(|key| place.editor(filters, Some(key))),
        next: next.as_deref().map(|key| place.editor(filters, Some(key))),
        next_key: next.unwrap_or_default(),
        is_changed_meanwhile: wanted.is_changed_meanwhile,
        refused: wanted.refused,
        translation,
        key,
    })
}

/// What is stored of a category; empty: of what is no plural.
pub fn stored(translation: &Translation, category: &str) -> String {
    let text = match category.is_empty() {
        true => translation.text.as_ref(),
        false => translation.forms.as_ref().and_then(|forms| forms.get(category)),
    };
    text.cloned().unwrap_or_default()
}

fn offers(found: Vec<Suggestion>, place: &Place, filters: &Filters, key: &str) -> Vec<Offer> {
    let offer = |(at, one): (usize, Suggestion)| Offer {
        number: at + 1,
        score: one.score,
        source: one.source,
        target: one.target,
        address: format!("{}&take={}", place.editor(filters, Some(key)), at + 1),
    };
    found.into_iter().enumerate().map(offer).collect()
}

/// The terms of the glossary that this string has to do with.
async fn terms(asking: &Asking, place: &Place, source: &[SourceForm]) -> Result<Vec<Term>, Notice> {
    let address = format!("/v1/projects/{}/glossary?limit={TERMS_READ_MAX}", encode_segment(&place.project));
    let found: Terms = asking.get(Room::Localization, &address).await?;
    let texts: Vec<_> = source.iter().map(|form| folded(&form.text).into_owned()).collect();
    let is_of_locale = |term: &Term| {
        term.locale.as_deref().is_none_or(|locale| {
            place.locale == locale || place.locale.strip_prefix(locale).is_some_and(|rest| rest.starts_with('-'))
        })
    };
    let is_here = |term: &Term| match &term.source {
        Some(source) => texts.iter().any(|text| text.contains(folded(source).as_ref())),
        None => true,
    };
    Ok(found.terms.into_iter().filter(|term| is_of_locale(term) && is_here(term)).take(20).collect())
}

impl EditorPage {
    /// A text with chips.
    fn chipped<'a>(&self, text: &'a str) -> Chipped<'a> {
        Chipped(text)
    }

    /// The key of a state's word.
    fn state_word(&self, state: &str) -> &'static str {
        word_of(state)
    }

    /// How a state looks.
    fn state_class(&self, state: &str) -> &'static str {
        match state {
            "approved" | "reviewed" => "good",
            "outdated" | "needs_attention" => "bad",
            "draft" => "fair",
            _ => "",
        }
    }

    /// Whether a filter says this.
    fn is_wanted(&self, filter: &Option<String>, text: &str) -> bool {
        filter.as_deref() == Some(text)
    }
}

/// The key of a term's kind.
pub fn term_word(kind: &str) -> &'static str {
    match kind {
        "dnt" => "editor.dnt",
        "forbidden" => "editor.forbidden",
        _ => "editor.term",
    }
}

/// The key of a state's word.
pub fn word_of(state: &str) -> &'static str {
    match state {
        "draft" => "state.draft",
        "needs_attention" => "state.needs_attention",
        "reviewed" => "state.reviewed",
        "approved" => "state.approved",
        "outdated" => "state.outdated",
        _ => "state.untranslated",
    }
}
