//! The list of a project's translations.

use quintet_platform::service::{
    Answer, CURSOR, Endpoint, Id, Instant, Parameter, Route, Shape, json as success, next_cursor, refusal_of, written,
};
use quintet_storage::{Failure, Uuid};

use super::settled::settled;
use crate::access::Action;
use crate::content::http::wire::Forms;
use crate::content::{FileId, Source, Translated, category_at, get_file, state_of, translation_locale};
use crate::figures::list::{Filter, Item, Place, WantedState, list_translations};
use crate::figures::tables::CountedState;
use crate::http::{Answered, Call, LIMIT, Localization, TAGGED};
use crate::quality::CheckId;
use crate::refusal::Refusal;
use crate::spaces::http::{PROJECT, permitted};

const LOCALE: Parameter = Parameter::new(
    "locale",
    Shape::Text { min: 1, max: 255 },
    "Every active key in this locale, translated or not; absent: every translation there is.",
);
const STATE: Parameter = Parameter::new(
    "state",
    Shape::Word(&["untranslated", "draft", "needs_attention", "reviewed", "approved", "outdated"], ""),
    "Those in this state; untranslated needs locale.",
);
const FILE: Parameter = Parameter::new("file", Shape::Uuid, "Those of this file.");
const CHECK: Parameter = Parameter::new("check", Shape::Word(CHECKS, ""), "Those that fail this check.");
const TEXT: Parameter = Parameter::new(
    "q",
    Shape::Text { min: 1, max: 200 },
    "Those with this text in path, source or target, whatever the case of letters.",
);

/// The ids of all checks.
const CHECKS: &[&str] = &[
    "Q01", "Q02", "Q03", "Q04", "Q05", "Q06", "Q07", "Q08", "Q09", "Q10", "Q11", "Q12", "Q14", "Q16", "Q17", "Q18",
    "Q19", "Q20",
];

const LIST: Route = Route::get("list_translations", "/v1/projects/{project_id}/translations")
    .permission("p_<p>_read")
    .summary("List and search its translations, in the order of key ids and locales")
    .segments(&[PROJECT])
    .parameters(&[CURSOR, LIMIT, LOCALE, STATE, FILE, CHECK, TEXT])
    .successes(&[success(200, "TranslationPage")])
    .marks(&[TAGGED])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&LIST, |call| Box::pin(list(call)))];

/// What the query says.
struct Wish {
    locale: Option<String>,
    state: Option<WantedState>,
    file_id: Option<FileId>,
    check: Option<CheckId>,
    text: Option<String>,
}

fn wish_of(call: &mut Call) -> Result<Wish, Refusal> {
    let locale = call.text(&LOCALE)?;
    let state = call.word(&STATE)?.map(|name| match CountedState::from_name(name) {
        Some(state) => WantedState::Counted(state),
        None => WantedState::Untranslated,
    });
    let file_id = call.text(&FILE)?.and_then(|text| Uuid::parse_str(&text).ok()).map(FileId);
    let check = call.word(&CHECK)?.and_then(CheckId::from_id);
    let text = call.text(&TEXT)?;
    if state == Some(WantedState::Untranslated) && locale.is_none() {
        return Err(Refusal::parameter(STATE.name, "is untranslated only with locale"));
    }
    Ok(Wish { locale, state, file_id, check, text })
}

async fn list(mut call: Call) -> Answered {
    let Wish { locale, state, file_id, check, text } = wish_of(&mut call)?;
    // A page is not continued under other filters.
    let kind = format!(
        "translations {} {locale:?} {state:?} {file_id:?} {check:?} {text:?}",
        call.segment::<String>(PROJECT.name).unwrap_or_default(),
    );
    let page = call.page::<Place>(&kind, &LIMIT)?;
    let project_id = permitted(&call, Action::Read)?.project_id;
    let tenant_id = call.caller.tenant_id();
    if let Some(file_id) = file_id {
        get_file(&call.snapshot(), tenant_id, project_id, file_id).map_err(refusal_of)?;
    }
    let locale = locale.as_deref().map(translation_locale).transpose()?;
    let locale = locale.map(|locale| locale.canonical().to_owned());
    let filter = Filter { locale, state, file_id, check, text };
    let read = settled(&call, project_id).await?;
    let listed = call.context.aside(tenant_id, move |_| {
        let found = list_translations(&read, tenant_id, project_id, &filter, page.after, page.limit)?;
        Ok(Answer::json(200, write_page(&found.items, next_cursor(&kind, found.next.as_ref())?)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

#[derive(serde::Serialize)]
struct ItemBody<'a> {
    key_id: Id,
    locale: &'a str,
    state: &'static str,
    revision: u64,
    text: Option<&'a str>,
    forms: Option<Forms<'a>>,
    updated_by: Option<Id>,
    updated_at: Option<Instant>,
    origin: Option<&'static str>,
    file_id: Id,
    path: &'a str,
    source: Option<&'a str>,
    source_forms: Option<Forms<'a>>,
    failed: Vec<&'static str>,
    approval: Option<ApprovalBody<'a>>,
}

#[derive(serde::Serialize)]
struct ApprovalBody<'a> {
    approved_at: Instant,
    approved_by: Id,
    approved_by_label: Option<&'a str>,
    approval_ref: Option<&'a str>,
}

fn of_item(item: &Item) -> ItemBody<'_> {
    let row = item.written.as_ref().map(|(row, _)| row);
    let (text, forms) = match row.map(|row| &row.content) {
        None => (None, None),
        Some(Translated::Text { text, .. }) => (Some(text.as_str()), None),
        Some(Translated::Forms(forms)) => {
            let forms = forms.iter().map(|form| (category_at(form.category).name(), form.text.as_str()));
            (None, Some(Forms(forms.collect())))
        }
    };
    let (source, source_forms) = match &item.entry.source {
        Source::Text(text) => (Some(text.as_str()), None),
        Source::Forms(forms) => {
            let forms = forms.iter().map(|(place, text)| (category_at(*place).name(), text.as_str()));
            (None, Some(Forms(forms.collect())))
        }
    };
    let approval = row.and_then(|row| row.approved.as_ref()).map(|approval| ApprovalBody {
        approved_at: Instant(approval.at),
        approved_by: Id(Uuid::from_bytes(approval.by)),
        approved_by_label: approval.label.as_deref(),
        approval_ref: approval.reference.as_deref(),
    });
    ItemBody {
        key_id: Id(item.key_id.0),
        locale: &item.locale,
        state: state_of(&item.entry, row).name(),
        revision: row.map_or(0, |row| row.revision),
        text,
        forms,
        updated_by: row.map(|row| Id(Uuid::from_bytes(row.updated_by))),
        updated_at: row.map(|row| Instant(row.updated_at)),
        origin: row.and_then(|row| row.origin).map(|origin| origin.name()),
        file_id: Id(item.file_id.0),
        path: &item.entry.path,
        source,
        source_forms,
        failed: item.failing().iter().map(CheckId::id).collect(),
        approval,
    }
}

#[derive(serde::Serialize)]
struct PageBody<'a> {
    translations: Vec<ItemBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(items: &[Item], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&PageBody { translations: items.iter().map(of_item).collect(), next_cursor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_can_be_asked_for() {
        assert_eq!(CHECKS, CheckId::ALL.map(CheckId::id));
    }
}
