//! Sources without pictures: checked, or written for a text.

use quintet_platform::service::{Answer, Content, Endpoint, Route, json as success};
use serde_json::{Value, json};

use super::body;
use super::dialect::{Answered, Call, Diagrams, PERMISSION, refuse_elsewhere};
use super::intake::source_of;
use crate::actions;
use crate::engine::DrawingError;
use crate::generate::PROMPT_BYTES_MAX;

const VALIDATE: Route = Route::post("validate_source", "/validate")
    .permission(PERMISSION)
    .summary("Check DOT source, which may hold several graphs")
    .body(Content::Json("Source"))
    .successes(&[success(200, "Validity").about("Whether it is valid, and if not, why and where")]);
const GENERATE: Route = Route::post("generate_source", "/generate")
    .permission(PERMISSION)
    .summary("Write DOT for a text, with the configured AI engine")
    .body(Content::Json("Prompt"))
    .successes(&[success(200, "Source").about("Valid DOT")])
    .codes(&["engine_failed", "no_engine"]);

pub(super) const ENDPOINTS: &[Endpoint<Diagrams>] = &[
    Endpoint::new(&VALIDATE, |call| Box::pin(validate(call))),
    Endpoint::new(&GENERATE, |call| Box::pin(generate(call))),
];

async fn validate(call: Call) -> Answered {
    let (context, from) = (call.context.clone(), source_of(&call.parts));
    let source = body::one_field(call, "dotfile", actions::source_bytes_max()).await?;
    let told = match actions::check(&context, from, source).await? {
        Ok(()) => json!({ "valid": true }),
        Err(DrawingError { message, line, column, .. }) => {
            let members = [
                ("valid", Some(json!(false))),
                ("error", Some(json!(message))),
                ("line", line.map(Value::from)),
                ("column", column.map(Value::from)),
            ];
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        }
    };
    Ok(Answer::value(200, &told))
}

async fn generate(call: Call) -> Answered {
    refuse_elsewhere(&call.parts)?;
    let (context, from) = (call.context.clone(), source_of(&call.parts));
    let prompt = body::one_field(call, "prompt", PROMPT_BYTES_MAX).await?;
    let dotfile = actions::generate(&context, from, &prompt).await?;
    Ok(Answer::value(200, &json!({ "dotfile": dotfile })))
}
