//! What the ledger reads: bodies and parameters as commands.
//!
//! A body is read to its end even when something is wrong, so that `INVALID_REQUEST` can name every field whose
//! shape is wrong. Only when all shapes are right does the first value that breaks a rule decide the code.

use quintet_platform::access::{PreparedSecret, TenantStatus};
use quintet_platform::clock::{TimeParseError, parse_rfc3339};
use quintet_platform::http::json::{FieldError, Fields, FromJson, Given, Json, JsonError, Number, to_canonical};
use quintet_platform::idempotency::RequestDigest;
use quintet_platform::ids::parse_uuid;
use quintet_storage::Timestamp;

use crate::accounts::{CreateAccount, FloorInput, PatchAccount};
use crate::asset_types::CreateAssetType;
use crate::model::{
    AccountId, AccountStatus, AssetTypeId, DESCRIPTION_CHARS_MAX, ENTRIES_MAX, ENTRIES_MIN, Kind, METADATA_BYTES_MAX,
    NAME_CHARS_MAX, Role, Side, SubTenantKind, TenantId, Tracking,
};
use crate::money::{Decimal, parse_minor};
use crate::posting::{NewEntry, PostTransaction};
use crate::refusal::{FieldProblem, Refusal};
use crate::sub_tenants::{CreateSubTenant, IssueSubTenantKey, PatchSubTenant};

use super::request::KEY_CHARS_MAX;

/// The members of an account that a PATCH knows but never changes.
const ACCOUNT_IMMUTABLE: [&str; 7] =
    ["account_id", "asset_type_id", "normal_side", "balance_tracking", "balance_floor_minor", "scale", "created_at"];

/// The most transactions of a bulk call.
pub(super) const BULK_ITEMS_MAX: usize = 1000;
/// The scope of the items' Idempotency-Keys.
pub(super) const BULK_ITEM: &str = "POST /v1/transactions/bulk, one item";

/// The most problems one refusal names: a body can hold thousands.
const PROBLEMS_NAMED_MAX: usize = 20;

/// The refusal for bytes that are no JSON document. [`JsonError::TooDeep`] has a code of its own.
pub(super) fn malformed(error: &JsonError) -> Refusal {
    match error {
        JsonError::TooDeep => Refusal::InvalidJsonDepth,
        JsonError::DuplicateKey { path } => Refusal::field(path.clone(), "is given twice"),
        JsonError::Empty
        | JsonError::NotUtf8
        | JsonError::Malformed { .. }
        | JsonError::TooManyValues
        | JsonError::NumberTooLong => Refusal::field("", error.to_string()),
    }
}

/// An object being read: what is wrong with shapes, all of it, and the first broken rule.
struct Form {
    fields: Fields,
    problems: Vec<FieldProblem>,
    refusal: Option<Refusal>,
}

impl Form {
    fn new(fields: Fields) -> Form {
        Form { fields, problems: Vec::new(), refusal: None }
    }

    fn of_body(json: Json) -> Result<Form, Refusal> {
        Ok(Form::new(Fields::new(json).map_err(|error| Refusal::InvalidRequest(vec![problem_of(&error)]))?))
    }

    fn noted<T>(&mut self, outcome: Result<T, FieldError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.push(problem_of(&error));
                None
            }
        }
    }

    fn required<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.required(name);
        self.noted(outcome)
    }

    /// Absent and null are the same.
    fn optional<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.nullable(name);
        self.noted(outcome).and_then(Given::value)
    }

    /// A name out of a closed list; `None` is wrong.
    fn chosen<T>(&mut self, name: &str, choices: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text: String = self.required(name)?;
        let chosen = parse(&text);
        if chosen.is_none() {
            self.problem(name, format!("must be one of {choices}"));
        }
        chosen
    }

    fn problem(&mut self, name: &str, problem: impl Into<String>) {
        let field = self.fields.path_of(name);
        self.problems.push(FieldProblem { field, problem: problem.into() });
    }

    /// The value, or the first rule it breaks.
    fn ruled<T>(&mut self, outcome: Result<T, Refusal>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(refusal) => {
                self.refusal.get_or_insert(refusal);
                None
            }
        }
    }

    /// Metadata; absent, null and the empty object are the same.
    fn metadata(&mut self) -> Option<String> {
        match self.fields.take("metadata") {
            None | Some(Json::Null) => None,
            Some(value) => self.ruled(canonical_metadata(&value)).filter(|canonical| canonical != "{}"),
        }
    }

    /// Metadata in a PATCH: the empty object is a change like any other, and null is no object.
    fn replaced_metadata(&mut self) -> Option<String> {
        let value = self.fields.take("metadata")?;
        self.ruled(canonical_metadata(&value))
    }

    /// A floor: absent, null, a decimal string or an integer of minor units.
    fn floor(&mut self) -> Option<FloorInput> {
        let outcome = match self.fields.take("balance_floor")? {
            Json::Null => Ok(FloorInput::Unbounded),
            Json::String(text) => Decimal::parse_signed(&text)
                .map(FloorInput::Decimal)
                .map_err(|_| Refusal::InvalidFloor("not a decimal number of at most 28 digits")),
            Json::Number(number) => parse_minor(number.as_str())
                .map(FloorInput::Minor)
                .map_err(|_| Refusal::InvalidFloor("a number must be an integer of minor units of at most 28 digits")),
            _ => Err(Refusal::InvalidFloor("neither a decimal string, nor an integer, nor null")),
        };
        self.ruled(outcome)
    }

    /// An instant with an explicit offset; absent and null are the same.
    fn instant(&mut self, name: &str, refusal: fn(&'static str) -> Refusal) -> Option<Timestamp> {
        let outcome = match self.fields.take(name) {
            None | Some(Json::Null) => return None,
            Some(Json::String(text)) => parse_rfc3339(&text).map_err(|error| refusal(instant_problem(error))),
            Some(_) => Err(refusal("not a string")),
        };
        self.ruled(outcome)
    }

    /// Ends the reading: nothing left over, nothing wrong.
    fn finish(self) -> Result<(), Refusal> {
        let Form { fields, mut problems, refusal } = self;
        if let Err(unknown) = fields.finish() {
            problems.extend(unknown.iter().map(problem_of));
        }
        problems.truncate(PROBLEMS_NAMED_MAX);
        if problems.is_empty() { refusal.map_or(Ok(()), Err) } else { Err(Refusal::InvalidRequest(problems)) }
    }
}

fn canonical_metadata(value: &Json) -> Result<String, Refusal> {
    if !matches!(value, Json::Object(_)) {
        return Err(Refusal::InvalidMetadata("not an object"));
    }
    let canonical = to_canonical(value);
    if canonical.len() > METADATA_BYTES_MAX {
        return Err(Refusal::InvalidMetadata("larger than 16 KiB as canonical JSON"));
    }
    Ok(canonical)
}

fn problem_of(error: &FieldError) -> FieldProblem {
    FieldProblem { field: error.field.clone(), problem: error.problem.to_string() }
}

fn instant_problem(error: TimeParseError) -> &'static str {
    match error {
        TimeParseError::Malformed => "not an RFC 3339 date and time",
        TimeParseError::NoOffset => "without an explicit UTC offset",
        TimeParseError::OutOfRange => "outside the years 0000 to 9999",
    }
}

/// Every value was read, or [`Form::finish`] has said what is wrong; so this does not happen.
fn complete<T>(read: Option<T>) -> Result<T, Refusal> {
    read.ok_or(Refusal::InternalError)
}

/// The instant `at` of a balance as of.
pub(super) fn as_of(at: Option<String>) -> Result<Timestamp, Refusal> {
    let at = at.ok_or(Refusal::InvalidAsOf("required"))?;
    parse_rfc3339(&at).map_err(|error| match error {
        // In a query a bare plus sign is a blank, so an offset loses its sign.
        TimeParseError::Malformed if at.contains(' ') => {
            Refusal::InvalidAsOf("not an RFC 3339 date and time; write a plus sign as %2B, or use Z")
        }
        error => Refusal::InvalidAsOf(instant_problem(error)),
    })
}

/// A body that must be absent or an empty object.
pub(super) fn nothing(json: Option<Json>) -> Result<(), Refusal> {
    json.map_or(Ok(()), |json| Form::of_body(json)?.finish())
}

/// POST /v1/asset-types
pub(super) fn create_asset_type(tenant_id: TenantId, json: Json) -> Result<CreateAssetType, Refusal> {
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

/// POST /v1/accounts
pub(super) fn create_account(tenant_id: TenantId, json: Json) -> Result<CreateAccount, Refusal> {
    let mut form = Form::of_body(json)?;
    let asset_type_id: Option<String> = form.required("asset_type_id");
    let asset_type_id = asset_type_id.and_then(|text| {
        let id = parse_uuid(&text).map(AssetTypeId);
        if id.is_none() {
            form.problem("asset_type_id", "must be a UUID");
        }
        id
    });
    let name: Option<String> = form.required("name");
    let normal_side = form.chosen("normal_side", "debit, credit", Side::parse);
    let tracking = match form.fields.take("balance_tracking") {
        None | Some(Json::Null) => Some(Tracking::Sync),
        Some(Json::String(text)) if Tracking::parse(&text).is_some() => Tracking::parse(&text),
        Some(_) => {
            form.problem("balance_tracking", "must be one of sync, async");
            None
        }
    };
    let floor = form.floor();
    let metadata = form.metadata();
    form.finish()?;
    Ok(CreateAccount {
        tenant_id,
        asset_type_id: complete(asset_type_id)?,
        name: complete(name)?,
        normal_side: complete(normal_side)?,
        tracking: complete(tracking)?,
        floor,
        metadata,
    })
}

/// PATCH /v1/accounts/{id}
pub(super) fn patch_account(tenant_id: TenantId, account_id: AccountId, json: Json) -> Result<PatchAccount, Refusal> {
    let mut form = Form::of_body(json)?;
    for name in ACCOUNT_IMMUTABLE {
        if form.fields.take(name).is_some() {
            form.refusal.get_or_insert(Refusal::ImmutableViolation(name));
        }
    }
    let name = form.fields.optional("name");
    let name = form.noted(name).flatten();
    let status = form.fields.optional::<String>("status");
    let status = form.noted(status).flatten().and_then(|text| {
        let status = AccountStatus::parse(&text);
        if status.is_none() {
            form.problem("status", "must be one of active, frozen, closed");
        }
        status
    });
    let metadata = form.replaced_metadata();
    let floor = form.floor();
    form.finish()?;
    Ok(PatchAccount { tenant_id, account_id, name, metadata, status, floor })
}

/// POST /v1/transactions
pub(super) fn post_transaction(tenant_id: TenantId, json: Json) -> Result<PostTransaction, Refusal> {
    let mut form = Form::of_body(json)?;
    let description = limited(&mut form, "description", 0, DESCRIPTION_CHARS_MAX, Refusal::InvalidDescription);
    let external_id = limited(&mut form, "external_id", 1, NAME_CHARS_MAX, Refusal::InvalidExternalId);
    let metadata = form.metadata();
    let pending = form.fields.optional::<bool>("pending");
    let pending = form.noted(pending).flatten().unwrap_or(false);
    let has_expiry = form.fields.take("expires_at");
    let hold_until = expiry(&mut form, pending, has_expiry);
    let effective_at = form.instant("effective_at", Refusal::InvalidEffectiveAt);
    let entries = entries(&mut form);
    form.finish()?;
    Ok(PostTransaction {
        tenant_id,
        description,
        external_id,
        metadata,
        effective_at,
        hold_until,
        entries: complete(entries)?,
    })
}

/// The members of a sub-tenant that a PATCH knows but never changes.
const SUB_TENANT_IMMUTABLE: [&str; 4] = ["sub_tenant_id", "kind", "contact_email", "created_at"];

/// POST /v1/sub-tenants
pub(super) fn create_sub_tenant(parent: TenantId, json: Json) -> Result<CreateSubTenant, Refusal> {
    let mut form = Form::of_body(json)?;
    let name: Option<String> = form.required("name");
    let kind: Option<String> = form.required("kind");
    let kind = kind.and_then(|kind| {
        let refusal = Refusal::InvalidTenant("kind is one of production, sandbox");
        form.ruled(SubTenantKind::parse(&kind).ok_or(refusal))
    });
    let contact_email: Option<String> = form.required("contact_email");
    form.finish()?;
    Ok(CreateSubTenant {
        parent,
        name: complete(name)?,
        kind: complete(kind)?,
        contact_email: complete(contact_email)?,
    })
}

/// PATCH /v1/sub-tenants/{id}
pub(super) fn patch_sub_tenant(
    parent: TenantId,
    sub_tenant_id: TenantId,
    json: Json,
) -> Result<PatchSubTenant, Refusal> {
    let mut form = Form::of_body(json)?;
    for name in SUB_TENANT_IMMUTABLE {
        if form.fields.take(name).is_some() {
            form.refusal.get_or_insert(Refusal::ImmutableViolation(name));
        }
    }
    let name = form.fields.optional("name");
    let name = form.noted(name).flatten();
    let status = form.fields.optional::<String>("status");
    let status = form.noted(status).flatten().and_then(|text| {
        let known = [TenantStatus::Active, TenantStatus::Suspended].into_iter().find(|status| status.name() == text);
        if known.is_none() {
            form.problem("status", "must be one of active, suspended");
        }
        known
    });
    form.finish()?;
    Ok(PatchSubTenant { parent, sub_tenant_id, name, status })
}

/// POST /v1/sub-tenants/{id}/keys
pub(super) fn issue_key(
    parent: TenantId,
    sub_tenant_id: TenantId,
    json: Json,
    secret: PreparedSecret,
) -> Result<IssueSubTenantKey, Refusal> {
    let mut form = Form::of_body(json)?;
    let label: Option<String> = form.required("label");
    let role: Option<String> = form.required("role");
    let role = role.and_then(|role| {
        form.ruled(Role::parse(&role).ok_or(Refusal::InvalidKey("role is one of admin, poster, reader")))
    });
    let ttl_days: Option<Number> = form.optional("ttl_days");
    let ttl_days = ttl_days.and_then(|days| {
        if !days.is_integer() {
            form.problem("ttl_days", "must be an integer");
            return None;
        }
        let days = days.as_i64().and_then(|days| u32::try_from(days).ok());
        form.ruled(days.ok_or(Refusal::InvalidKey("ttl_days is 1 to 3650")))
    });
    form.finish()?;
    Ok(IssueSubTenantKey {
        parent,
        sub_tenant_id,
        label: complete(label)?,
        role: complete(role)?,
        ttl_days,
        drawn: (None, secret),
    })
}

/// A bulk call: whether all or none, and its items.
pub(super) struct BulkInput {
    pub(super) is_atomic: bool,
    pub(super) items: Vec<BulkItem>,
}

/// One transaction of a bulk call.
pub(super) struct BulkItem {
    /// What is to be posted, or why not.
    pub(super) command: Result<PostTransaction, Refusal>,
    /// Its own Idempotency-Key, if it has one, and what the item was besides.
    pub(super) key: Option<(String, RequestDigest)>,
}

/// POST /v1/transactions/bulk
pub(super) fn bulk(tenant_id: TenantId, json: Json) -> Result<BulkInput, Refusal> {
    let mut form = Form::of_body(json)?;
    let is_atomic = form.fields.optional::<bool>("atomic");
    let is_atomic = form.noted(is_atomic).flatten().unwrap_or(false);
    let items: Option<Vec<Json>> = form.required("transactions");
    if items.as_ref().is_some_and(|items| !(1..=BULK_ITEMS_MAX).contains(&items.len())) {
        form.problem("transactions", format!("must have 1 to {BULK_ITEMS_MAX} items"));
    }
    form.finish()?;
    let items = complete(items)?.into_iter().map(|item| bulk_item(tenant_id, item)).collect();
    Ok(BulkInput { is_atomic, items })
}

fn bulk_item(tenant_id: TenantId, mut item: Json) -> BulkItem {
    let key = match &mut item {
        Json::Object(members) => {
            let place = members.iter().position(|(name, _)| name == "idempotency_key");
            place.map(|place| members.remove(place).1)
        }
        _ => None,
    };
    let key = match key {
        None => Ok(None),
        Some(Json::String(text)) if is_item_key(&text) => {
            let digest = RequestDigest::of("POST", BULK_ITEM, "", to_canonical(&item).as_bytes());
            Ok(Some((text, digest)))
        }
        Some(_) => Err(Refusal::InvalidKey("idempotency_key is a text of 1 to 255 characters")),
    };
    match key {
        Ok(key) => BulkItem { command: post_transaction(tenant_id, item), key },
        Err(refusal) => BulkItem { command: Err(refusal), key: None },
    }
}

fn is_item_key(text: &str) -> bool {
    (1..=KEY_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

fn limited(form: &mut Form, name: &str, min: usize, max: usize, refusal: Refusal) -> Option<String> {
    let text: String = form.optional(name)?;
    let within = (min..=max).contains(&text.chars().count());
    form.ruled(if within { Ok(text) } else { Err(refusal) })
}

fn expiry(form: &mut Form, pending: bool, given: Option<Json>) -> Option<Timestamp> {
    let outcome = match (pending, given) {
        (false, None | Some(Json::Null)) => return None,
        (true, None | Some(Json::Null)) => Err(Refusal::InvalidExpiresAt("required when pending")),
        (false, Some(_)) => Err(Refusal::InvalidExpiresAt("only a pending transaction expires")),
        (true, Some(Json::String(text))) => {
            parse_rfc3339(&text).map_err(|error| Refusal::InvalidExpiresAt(instant_problem(error)))
        }
        (true, Some(_)) => Err(Refusal::InvalidExpiresAt("not a string")),
    };
    form.ruled(outcome)
}

fn entries(form: &mut Form) -> Option<Vec<NewEntry>> {
    let values: Vec<Json> = form.required("entries")?;
    if !(ENTRIES_MIN..=ENTRIES_MAX).contains(&values.len()) {
        return form.ruled(Err(Refusal::EntryCountOutOfRange(values.len())));
    }
    let mut entries = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let fields = Fields::at(format!("entries[{index}]"), value);
        let Some(fields) = form.noted(fields) else { continue };
        let mut item = Form::new(fields);
        let entry = entry(&mut item);
        match item.finish() {
            Ok(()) => entries.extend(entry),
            Err(Refusal::InvalidRequest(problems)) => form.problems.extend(problems),
            Err(refusal) => {
                form.refusal.get_or_insert(refusal);
            }
        }
    }
    Some(entries)
}

fn entry(form: &mut Form) -> Option<NewEntry> {
    let account_id: Option<String> = form.required("account_id");
    let account_id = account_id.and_then(|text| {
        let field = form.fields.path_of("account_id");
        form.ruled(parse_uuid(&text).map(AccountId).ok_or(Refusal::InvalidAccountId(field)))
    });
    let direction = form.chosen("direction", "debit, credit", Side::parse);
    let field = form.fields.path_of("amount");
    let amount = match form.fields.take("amount") {
        None => {
            form.problem("amount", "is required");
            None
        }
        Some(Json::String(text)) => form.ruled(Decimal::parse_amount(&text).map_err(|_| Refusal::InvalidAmount(field))),
        Some(_) => form.ruled(Err(Refusal::InvalidAmount(field))),
    };
    Some(NewEntry { account_id: account_id?, direction: direction?, amount: amount? })
}
