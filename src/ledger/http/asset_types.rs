//! Asset types: define, list.

use quintet_platform::json::{Json, Number};
use quintet_platform::service::{Content, Endpoint, KeyRule, Route, json as success};
use quintet_storage::Failure;

use super::dialect::{Answered, Call, Ledger, answer_in_turn, of_verb};
use super::form::{Form, complete};
use super::wire::{Id, Instant, json};
use crate::asset_types::{self, AssetType, CreateAssetType};
use crate::model::{Kind, TenantId};
use crate::refusal::Refusal;

const CREATE: Route = Route::post("create_asset_type", "/v1/asset-types")
    .permission("ledger_admin")
    .summary("Define an asset type")
    .key(KeyRule::Required)
    .body(Content::Json("AssetTypeCreate"))
    .successes(&[success(201, "AssetTypeCreated")])
    .codes(&["INVALID_ASSET_TYPE", "CONSTRAINT_VIOLATION"]);
const LIST: Route = Route::get("list_asset_types", "/v1/asset-types")
    .permission("ledger_reader")
    .summary("List the asset types, oldest first")
    .successes(&[success(200, "AssetTypeList")]);

pub(super) const ENDPOINTS: &[Endpoint<Ledger>] =
    &[Endpoint::new(&CREATE, |call| Box::pin(create(call))), Endpoint::new(&LIST, |call| Box::pin(list(call)))];

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let tenant_id = change.call.caller.tenant_id;
    let command = change.json().and_then(|json| read_create(tenant_id, json));
    let snapshot = change.call.snapshot();
    let count = move || Ok(asset_types::are_all_made(&snapshot, tenant_id)?);
    let are_all_made = change.call.in_turn(&change.call.context.turns, count).await?;
    let command = command.and_then(|command| match are_all_made {
        true => Err(Refusal::ConstraintViolation("a tenant has at most 10,000 asset types")),
        false => Ok(command),
    });
    change.write(|tx, now| of_verb(201, asset_types::create_asset_type(tx, now, command?), write_created)).await
}

async fn list(call: Call) -> Answered {
    answer_in_turn(&call, |read, tenant_id| Ok(write_list(&asset_types::list_asset_types(read, tenant_id)?)?)).await
}

/// POST /v1/asset-types
fn read_create(tenant_id: TenantId, json: Json) -> Result<CreateAssetType, Refusal> {
    let mut form = Form::of_body(json)?;
    let code: Option<String> = form.required("code");
    let kind: Option<String> = form.required("kind");
    let scale: Option<Number> = form.required("scale");
    let kind = kind.and_then(|kind| {
        form.ruled(Kind::parse(&kind).ok_or(Refusal::InvalidAssetType("kind is one of fiat, credit, inventory")))
    });
    let scale = scale.and_then(|scale| {
        if !scale.is_integer() {
            form.problem("scale", "must be an integer");
            return None;
        }
        // An integer of any size: what does not fit the type is out of range like everything above 12.
        let scale = scale.as_i64().and_then(|scale| u8::try_from(scale).ok());
        form.ruled(scale.ok_or(Refusal::InvalidAssetType("scale is 0 to 12")))
    });
    form.finish()?;
    Ok(CreateAssetType { tenant_id, code: complete(code)?, kind: complete(kind)?, scale: complete(scale)? })
}

#[derive(serde::Serialize)]
struct CreatedAssetType<'a> {
    asset_type_id: Id,
    code: &'a str,
    kind: &'static str,
    scale: u8,
}

/// The answer to a definition.
fn write_created(made: &AssetType) -> Result<Vec<u8>, Failure> {
    json(&of_asset_type(made))
}

#[derive(serde::Serialize)]
struct AssetTypeRecord<'a> {
    #[serde(flatten)]
    created: CreatedAssetType<'a>,
    created_at: Instant,
}

#[derive(serde::Serialize)]
struct AssetTypeList<'a> {
    asset_types: Vec<AssetTypeRecord<'a>>,
}

/// Every asset type.
fn write_list(all: &[AssetType]) -> Result<Vec<u8>, Failure> {
    let record = |one| AssetTypeRecord { created: of_asset_type(one), created_at: Instant(one.row.created_at) };
    json(&AssetTypeList { asset_types: all.iter().map(record).collect() })
}

fn of_asset_type(one: &AssetType) -> CreatedAssetType<'_> {
    CreatedAssetType {
        asset_type_id: Id(one.asset_type_id.0),
        code: &one.row.code,
        kind: one.row.kind.as_str(),
        scale: one.row.scale,
    }
}
