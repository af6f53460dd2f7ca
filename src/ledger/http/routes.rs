//! The route table: what is served, who may call it, and what it is described with. Everything that tells of routes
//! (the router, the permissions, `/openapi.json`, `/llms.txt`) is made from it.

use quintet_platform::http::describe::Parameter;

/// A served route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its method; a GET serves HEAD as well.
    pub method: &'static str,
    /// Its path, ids as `{id}`.
    pub path: &'static str,
    /// What a key must be allowed; empty: open to everybody.
    pub permission: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The status of success.
    pub status: u16,
    /// The schema of the request's body; empty: none.
    pub request: &'static str,
    /// The schema of the answer; empty: no JSON.
    pub answer: &'static str,
    /// What its query may say.
    pub parameters: &'static [Parameter],
    /// Its own error codes, besides those that go with its method and permission.
    pub own_codes: &'static [&'static str],
    /// Method and path in one: the scope of Idempotency-Keys.
    template: &'static str,
}

/// Codes of every route that asks for a key.
const KEYED_CODES: &[&str] = &[
    "UNAUTHENTICATED",
    "CREDENTIAL_EXPIRED",
    "FORBIDDEN",
    "TENANT_SUSPENDED",
    "TENANT_NOT_PROVISIONED",
    "INVALID_REQUEST",
    "QUOTA_EXCEEDED",
    "AUTHZ_UNAVAILABLE",
    "AUTHZ_CREDENTIAL_REJECTED",
    "STATEMENT_TIMEOUT",
];

/// Codes of every route that changes something.
const MUTATING_CODES: &[&str] = &[
    "MISSING_IDEMPOTENCY_KEY",
    "LOCK_TIMEOUT",
    "POSTING_FROZEN",
    "PAYLOAD_TOO_LARGE",
    "IDEMPOTENCY_KEY_MISMATCH",
    "INVALID_JSON_DEPTH",
    "INVALID_KEY",
];

impl Route {
    /// Method and path in one.
    #[must_use]
    pub const fn template(&self) -> &'static str {
        self.template
    }

    /// Whether it changes something, and so needs an Idempotency-Key.
    #[must_use]
    pub fn is_mutating(&self) -> bool {
        self.method != "GET"
    }

    /// Every error code it can answer with.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes = self.own_codes.to_vec();
        if self.path != HEALTH.path {
            codes.extend(["RATE_LIMITED", "INTERNAL_ERROR"]);
        }
        if !self.permission.is_empty() {
            codes.extend(KEYED_CODES);
        }
        if self.is_mutating() {
            codes.extend(MUTATING_CODES);
        }
        codes
    }
}

macro_rules! route {
    ($method:literal $path:literal $permission:literal, $summary:literal, $request:literal => $status:literal $answer:literal, $parameters:expr, $codes:expr) => {
        Route {
            method: $method,
            path: $path,
            permission: $permission,
            summary: $summary,
            status: $status,
            request: $request,
            answer: $answer,
            parameters: $parameters,
            own_codes: $codes,
            template: concat!($method, " ", $path),
        }
    };
}

const NO_PARAMETERS: &[Parameter] = &[];
const LIMIT: Parameter = Parameter {
    name: "limit",
    is_required: false,
    schema: r#"{"type":"integer","minimum":1,"maximum":1000,"default":50}"#,
    about: "The most items of a page.",
};
const CURSOR: Parameter = Parameter {
    name: "cursor",
    is_required: false,
    schema: r#"{"type":"string"}"#,
    about: "The next_cursor of the page before, of the same list and filter.",
};
const PAGE: &[Parameter] = &[LIMIT, CURSOR];
const STATEMENT: &[Parameter] = &[
    LIMIT,
    CURSOR,
    Parameter {
        name: "state",
        is_required: false,
        schema: r##"{"$ref":"#/components/schemas/TransactionState"}"##,
        about: "Only entries of transactions in this state.",
    },
];
const AS_OF: &[Parameter] = &[
    Parameter {
        name: "at",
        is_required: true,
        schema: r#"{"type":"string","format":"date-time"}"#,
        about: "A past instant with an explicit UTC offset; write a plus sign as %2B, or use Z.",
    },
    Parameter {
        name: "basis",
        is_required: false,
        schema: r#"{"enum":["effective","recorded"],"default":"effective"}"#,
        about: "effective: by when movements happened; recorded: by when the ledger learned of them.",
    },
];

/// What posting a transaction can be refused with.
const POSTING_CODES: &[&str] = &[
    "ENTRY_COUNT_OUT_OF_RANGE",
    "INVALID_EXPIRES_AT",
    "INVALID_EFFECTIVE_AT",
    "INVALID_ACCOUNT_ID",
    "REFERENCE_NOT_FOUND",
    "INVALID_AMOUNT",
    "INVALID_AMOUNT_SCALE",
    "INVALID_METADATA",
    "INVALID_DESCRIPTION",
    "INVALID_EXTERNAL_ID",
    "UNBALANCED_TRANSACTION",
    "DUPLICATE_TRANSACTION",
    "ACCOUNT_NOT_ACTIVE",
    "CONSTRAINT_VIOLATION",
    "INSUFFICIENT_AVAILABLE",
];
const ACCOUNT_CODES: &[&str] = &["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID"];

#[rustfmt::skip]
mod table {
    use super::{ACCOUNT_CODES, AS_OF, NO_PARAMETERS, PAGE, POSTING_CODES, Route, STATEMENT};

    pub(in crate::http) const HEALTH: Route = route!("GET" "/healthz" "", "Whether the ledger can read and write", "" => 200 "Health", NO_PARAMETERS, &[]);
    pub(in crate::http) const OPENAPI: Route = route!("GET" "/openapi.json" "", "This description", "" => 200 "", NO_PARAMETERS, &[]);
    pub(in crate::http) const LLMS: Route = route!("GET" "/llms.txt" "", "How to use the ledger, for agents", "" => 200 "", NO_PARAMETERS, &[]);
    pub(in crate::http) const ASSET_TYPE_CREATE: Route = route!("POST" "/v1/asset-types" "ledger_admin", "Define an asset type", "AssetTypeCreate" => 201 "AssetTypeCreated", NO_PARAMETERS, &["INVALID_ASSET_TYPE", "CONSTRAINT_VIOLATION"]);
    pub(in crate::http) const ASSET_TYPE_LIST: Route = route!("GET" "/v1/asset-types" "ledger_reader", "List the asset types, oldest first", "" => 200 "AssetTypeList", NO_PARAMETERS, &[]);
    pub(in crate::http) const ACCOUNT_CREATE: Route = route!("POST" "/v1/accounts" "ledger_admin", "Open an account", "AccountCreate" => 201 "AccountCreated", NO_PARAMETERS, &["ASSET_TYPE_NOT_FOUND", "INVALID_ACCOUNT", "INVALID_FLOOR", "INVALID_METADATA"]);
    pub(in crate::http) const ACCOUNT_LIST: Route = route!("GET" "/v1/accounts" "ledger_reader", "List accounts, newest first", "" => 200 "AccountPage", PAGE, &[]);
    pub(in crate::http) const ACCOUNT_GET: Route = route!("GET" "/v1/accounts/{id}" "ledger_reader", "One account", "" => 200 "Account", NO_PARAMETERS, ACCOUNT_CODES);
    pub(in crate::http) const ACCOUNT_PATCH: Route = route!("PATCH" "/v1/accounts/{id}" "ledger_admin", "Rename, freeze, close, move the floor", "AccountPatch" => 200 "Account", NO_PARAMETERS, &["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID", "INVALID_ACCOUNT", "INVALID_FLOOR", "INVALID_METADATA", "CLOSE_REQUIRES_ZERO_BALANCE", "IMMUTABLE_VIOLATION"]);
    pub(in crate::http) const BALANCE_GET: Route = route!("GET" "/v1/accounts/{id}/balance" "ledger_reader", "What is posted, pending and available now", "" => 200 "Balance", NO_PARAMETERS, ACCOUNT_CODES);
    pub(in crate::http) const BALANCE_AS_OF: Route = route!("GET" "/v1/accounts/{id}/balance-as-of" "ledger_reader", "What was posted at a past instant", "" => 200 "BalanceAsOf", AS_OF, &["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID", "INVALID_AS_OF"]);
    pub(in crate::http) const ENTRY_LIST: Route = route!("GET" "/v1/accounts/{id}/entries" "ledger_reader", "The statement, newest first", "" => 200 "EntryPage", STATEMENT, &["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID", "INVALID_STATE"]);
    pub(in crate::http) const TRANSACTION_POST: Route = route!("POST" "/v1/transactions" "ledger_poster", "Post a transaction at once, or place a hold", "TransactionCreate" => 201 "TransactionPosted", NO_PARAMETERS, POSTING_CODES);
    pub(in crate::http) const TRANSACTION_BULK: Route = route!("POST" "/v1/transactions/bulk" "ledger_poster", "Post up to 1000 transactions, all or none or each for itself", "BulkCreate" => 200 "BulkPosted", NO_PARAMETERS, POSTING_CODES);
    pub(in crate::http) const TRANSACTION_GET: Route = route!("GET" "/v1/transactions/{id}" "ledger_reader", "One transaction with its entries", "" => 200 "Transaction", NO_PARAMETERS, &["TRANSACTION_NOT_FOUND"]);
    pub(in crate::http) const TRANSACTION_COMMIT: Route = route!("POST" "/v1/transactions/{id}/commit" "ledger_poster", "Commit a hold", "Nothing" => 200 "Settled", NO_PARAMETERS, &["TRANSACTION_NOT_FOUND", "INVALID_TRANSACTION_STATE", "HOLD_EXPIRED", "ACCOUNT_NOT_ACTIVE"]);
    pub(in crate::http) const TRANSACTION_VOID: Route = route!("POST" "/v1/transactions/{id}/void" "ledger_poster", "Release a hold", "Nothing" => 200 "Settled", NO_PARAMETERS, &["TRANSACTION_NOT_FOUND", "INVALID_TRANSACTION_STATE"]);
    pub(in crate::http) const SUB_TENANT_CREATE: Route = route!("POST" "/v1/sub-tenants" "ledger_partner", "Create a client sub-tenant", "SubTenantCreate" => 201 "SubTenant", NO_PARAMETERS, &["INVALID_TENANT"]);
    pub(in crate::http) const SUB_TENANT_LIST: Route = route!("GET" "/v1/sub-tenants" "ledger_partner", "List the sub-tenants, oldest first", "" => 200 "SubTenantPage", PAGE, &[]);
    pub(in crate::http) const SUB_TENANT_PATCH: Route = route!("PATCH" "/v1/sub-tenants/{id}" "ledger_partner", "Rename, suspend, activate a sub-tenant", "SubTenantPatch" => 200 "SubTenant", NO_PARAMETERS, &["SUB_TENANT_NOT_FOUND", "INVALID_TENANT", "IMMUTABLE_VIOLATION"]);
    pub(in crate::http) const KEY_CREATE: Route = route!("POST" "/v1/sub-tenants/{id}/keys" "ledger_partner", "Issue a key of a sub-tenant; it is shown this once", "KeyCreate" => 201 "KeyIssued", NO_PARAMETERS, &["SUB_TENANT_NOT_FOUND"]);
    pub(in crate::http) const KEY_LIST: Route = route!("GET" "/v1/sub-tenants/{id}/keys" "ledger_partner", "List the keys of a sub-tenant, without their secrets", "" => 200 "KeyList", NO_PARAMETERS, &["SUB_TENANT_NOT_FOUND"]);
    pub(in crate::http) const KEY_DELETE: Route = route!("DELETE" "/v1/sub-tenants/{id}/keys/{key_id}" "ledger_partner", "Revoke a key; the next request with it is refused", "Nothing" => 200 "KeyRevoked", NO_PARAMETERS, &["SUB_TENANT_NOT_FOUND", "KEY_NOT_FOUND", "REVOCATION_FAILED"]);
}
pub(in crate::http) use table::*;

/// Every route that is served.
pub const ROUTES: &[Route] = &[
    HEALTH,
    OPENAPI,
    LLMS,
    ASSET_TYPE_CREATE,
    ASSET_TYPE_LIST,
    ACCOUNT_CREATE,
    ACCOUNT_LIST,
    ACCOUNT_GET,
    ACCOUNT_PATCH,
    BALANCE_GET,
    BALANCE_AS_OF,
    ENTRY_LIST,
    TRANSACTION_POST,
    TRANSACTION_BULK,
    TRANSACTION_GET,
    TRANSACTION_COMMIT,
    TRANSACTION_VOID,
    SUB_TENANT_CREATE,
    SUB_TENANT_LIST,
    SUB_TENANT_PATCH,
    KEY_CREATE,
    KEY_LIST,
    KEY_DELETE,
];
