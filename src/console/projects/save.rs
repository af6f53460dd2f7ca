//! What the editor's form does: writes the text, and moves the translation on.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::Method;
use quintet_localization::language::Locale;
use quintet_platform::http::query::{Query, encode_segment};
use serde_json::{Map, Value, json};

use super::editor::{Wanted, page, stored};
use super::filters::{Filters, Place};
use super::texts::{as_typed, fields};
use super::wire::{Key, Translation};
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::rooms::{Asking, Refused, Room, With};
use crate::console::visitor::Member;

/// The largest form, in bytes: six forms of the longest text, each byte of which may be written in three.
const FORM_BYTES_MAX: usize = 6 * 3 * 65_536 + 16_384;
/// What a room says where somebody else was faster.
const PRECONDITION_FAILED: u16 = 412;

/// What the form says.
pub struct Sent {
    /// Which string.
    pub key: Key,
    /// The revision that was looked at.
    pub revision: u64,
    /// What is typed, by the fields' names.
    pub typed: BTreeMap<String, String>,
    locale: Locale,
}

/// Reads the string and what was typed.
///
/// # Errors
/// The string is not there, or the form makes no sense.
pub async fn read(asking: &Asking, place: &Place, form: &mut Query) -> Result<Sent, Notice> {
    let key_id = form.take("key").ok_or(Notice::Malformed)?;
    let key: Key = asking.get(Room::Localization, &format!("/v1/keys/{}", encode_segment(&key_id))).await?;
    let revision = form.take("revision").and_then(|text| text.parse().ok()).ok_or(Notice::Malformed)?;
    let locale = Locale::parse(&place.locale).map_err(|_| Notice::NotFound)?;
    let texts = key.source.iter().chain(key.forms.iter().flat_map(BTreeMap::values));
    let has_crlf = texts.clone().any(|text| text.contains("\r\n"));
    let mut typed = BTreeMap::new();
    for field in fields(&locale, key.source.is_none(), |_| String::new()) {
        let text = form.take(&field.name).ok_or(Notice::Malformed)?;
        typed.insert(field.name, as_typed(&text, has_crlf));
    }
    Ok(Sent { key, revision, typed, locale })
}

impl Sent {
    /// TranslationPut.
    pub fn body(&self) -> Value {
        match self.typed.get("text") {
            Some(text) => json!({"text": text}),
            None => {
                let forms = self.typed.iter().filter_map(|(name, text)| Some((name.strip_prefix("form.")?, text)));
                let forms: Map<_, _> = forms.map(|(name, text)| (name.to_owned(), json!(text))).collect();
                json!({"forms": forms})
            }
        }
    }

    /// Whether it is what is stored.
    fn is_stored(&self, translation: &Translation) -> bool {
        let fields = fields(&self.locale, self.key.source.is_none(), |category| stored(translation, category));
        fields.iter().all(|field| self.typed.get(&field.name) == Some(&field.text))
    }
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Save,
    SaveAndReview,
    Move(&'static str),
}

impl Act {
    fn of(text: &str) -> Option<Act> {
        match text {
            "save" => Some(Act::Save),
            "save_review" => Some(Act::SaveAndReview),
            "review" => Some(Act::Move("review")),
            "approve" => Some(Act::Move("approve")),
            "reject" => Some(Act::Move("reject")),
            "revoke" => Some(Act::Move("revoke")),
            _ => None,
        }
    }
}

/// Takes the form; leads to the next string.
pub async fn take(
    member: Member,
    Path((project, locale)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Notice> {
    let place = Place { project, locale };
    let mut form = form::read_of(body, FORM_BYTES_MAX, "").await?;
    let filters = Filters::take(&mut form);
    let act = form.take("act").as_deref().and_then(Act::of).ok_or(Notice::Malformed)?;
    let (once, next) = (form.take("once").unwrap_or_default(), form.take("next").filter(|next| !next.is_empty()));
    let sent = read(&member.asking, &place, &mut form).await?;
    match done(&member.asking, &place, &sent, act, &once).await? {
        Ok(()) => {
            let key = next.unwrap_or_else(|| sent.key.id.clone());
            Ok(Redirect::to(&place.editor(&filters, Some(&key))).into_response())
        }
        Err(refused) => {
            let is_changed_meanwhile = refused.status == PRECONDITION_FAILED;
            let refused = Some(refused).filter(|_| !is_changed_meanwhile);
            let (key, typed) = (Some(sent.key.id), Some(sent.typed));
            let wanted = Wanted { key, typed, is_changed_meanwhile, refused, ..Wanted::default() };
            page(member, place, filters, wanted).await
        }
    }
}

/// Does it: writes what is another text by now, and moves on what is to be moved on.
async fn done(
    asking: &Asking,
    place: &Place,
    sent: &Sent,
    act: Act,
    once: &str,
) -> Result<Result<(), Refused>, Notice> {
    let address = place.of_key(&sent.key.id, "translations");
    let translation: Translation = asking.get(Room::Localization, &address).await?;
    let is_blank = translation.revision == 0 && sent.typed.values().all(String::is_empty);
    let is_stored = sent.is_stored(&translation);
    let mut revision = translation.revision;
    match act {
        // Somebody looks on: there is nothing to store.
        Act::Save if is_stored || is_blank => return Ok(Ok(())),
        Act::SaveAndReview if is_stored => {}
        Act::Save | Act::SaveAndReview => {
            let with = With::json(&sent.body()).once(once).replacing(sent.revision);
            match asking.ask::<Translation>(Room::Localization, Method::PUT, &address, with).await? {
                Ok(written) => revision = written.revision,
                Err(refused) => return Ok(Err(refused)),
            }
        }
        // What is typed was meant to be looked at, not what is stored.
        Act::Move(_) if !is_stored || revision != sent.revision => {
            return Ok(Err(Refused { status: PRECONDITION_FAILED, ..Refused::default() }));
        }
        Act::Move(_) => {}
    }
    let action = match act {
        Act::Save => return Ok(Ok(())),
        Act::SaveAndReview => "review",
        Act::Move(action) => action,
    };
    moved(asking, place, (&sent.key.id, revision), action, &format!("{once}-{action}")).await
}

/// Moves a translation on.
///
/// # Errors
/// Those of [`Asking::change`].
pub async fn moved(
    asking: &Asking,
    place: &Place,
    (key, revision): (&str, u64),
    action: &str,
    once: &str,
) -> Result<Result<(), Refused>, Notice> {
    let address = format!("{}/transition", place.of_key(key, "translations"));
    let with = With::json(&json!({"action": action, "revision": revision})).once(once);
    asking.change(Room::Localization, Method::POST, &address, with).await
}
