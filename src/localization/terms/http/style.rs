//! The styles of a project: read all, set one.

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Content, Endpoint, Instant, KeyRule, Route, json as success, refusal_of, written,
};
use quintet_storage::Failure;

use crate::access::Action;
use crate::content::rejudge::wait_for_pass;
use crate::http::{Answered, Call, Form, Localization, TAGGED, read};
use crate::refusal::Refusal;
use crate::spaces::http::{PROJECT, permitted};
use crate::terms::model::{LOCALE_CHARS_MAX, Register, STYLE_CHARS_MAX, Style, StyleScope};
use crate::terms::style::{PutStyle, list_styles, put_style};

const GET: Route = Route::get("get_style", "/v1/projects/{project_id}/style")
    .permission("p_<p>_read")
    .summary("Its style instructions, by locale and scope; `*` is every locale")
    .segments(&[PROJECT])
    .successes(&[success(200, "Styles")])
    .codes(&["busy"]);
const PUT: Route = Route::put("put_style", "/v1/projects/{project_id}/style")
    .permission("p_<p>_glossary-write")
    .summary("Set the instruction of a locale and scope; an empty text deletes it")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .body(Content::Json("StylePut"))
    .successes(&[success(200, "Styles")])
    .marks(&[TAGGED])
    .codes(&["register_scope", "conflict"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PUT, |call| Box::pin(put(call)))];

async fn get(call: Call) -> Answered {
    let project_id = permitted(&call, Action::Read)?.project_id;
    let tenant_id = call.caller.tenant_id();
    let told = call.context.aside(tenant_id, move |read| {
        let styles = list_styles(read, tenant_id, project_id)?;
        Ok(Answer::json(200, write_styles(&styles)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn put(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wished = read_put(change.json()?)?;
    change.begin()?;
    let project_id = permitted(&change.call, Action::GlossaryWrite)?.project_id;
    let WishedStyle { locale, scope, text, register } = wished;
    let command = PutStyle::new(&locale, scope, text, register)?;
    let actor = change.call.caller.actor.clone();
    let (context, tenant_id) = (change.call.context.clone(), change.call.caller.tenant_id());
    let put = change.write(move |tx, now| {
        let styles = put_style(tx, now, &actor, project_id, command)?;
        Ok(Answer::json(200, write_styles(&styles)?))
    });
    let answer = put.await?;
    wait_for_pass(&context.store, tenant_id, project_id).await;
    Ok(answer)
}

/// StylePut, its locale still as it was written.
struct WishedStyle {
    locale: String,
    scope: StyleScope,
    text: String,
    register: Option<Register>,
}

/// StylePut.
fn read_put(json: Json) -> Result<WishedStyle, Refusal> {
    let mut form = Form::of_body(json)?;
    let locale = form.required_text("locale", 1, LOCALE_CHARS_MAX);
    let scope: Option<String> = form.required("scope");
    let scope = scope.map(|name| StyleScope::from_name(&name));
    if scope == Some(None) {
        form.wrong("scope", "is default or legal");
    }
    let text = form.required_text("text", 0, STYLE_CHARS_MAX);
    let register: Option<String> = form.nullable("register");
    let is_formal = register.as_deref().map(|name| name == Register::Formal.name());
    if is_formal == Some(false) {
        form.wrong("register", "is formal or null");
    }
    form.finish()?;
    let register = is_formal.map(|_| Register::Formal);
    Ok(WishedStyle { locale: read(locale)?, scope: read(scope.flatten())?, text: read(text)?, register })
}

#[derive(serde::Serialize)]
struct StyleBody<'a> {
    locale: &'a str,
    scope: &'static str,
    text: &'a str,
    register: Option<&'static str>,
    updated_at: Instant,
}

#[derive(serde::Serialize)]
struct StylesBody<'a> {
    styles: Vec<StyleBody<'a>>,
}

fn write_styles(styles: &[Style]) -> Result<Vec<u8>, Failure> {
    let styles = styles.iter().map(|one| StyleBody {
        locale: &one.locale,
        scope: one.scope.name(),
        text: &one.text,
        register: one.register.map(Register::name),
        updated_at: Instant(one.updated_at),
    });
    written(&StylesBody { styles: styles.collect() })
}
