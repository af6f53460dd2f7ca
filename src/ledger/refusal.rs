//! Every way the ledger says no, and the one place that turns it into a status and a stable code.
//!
//! The list is the contract's, whole: what every service refuses alike is a [`Fault`], and [`code_of_fault`] gives it the
//! ledger's code. Codes that this engine has no occasion for are kept so that their meaning stays fixed; each says why it
//! does not arise.

use quintet_platform::http::query::QueryError;
use quintet_platform::json::{Json, JsonError};
use quintet_platform::service::{Fault, Problem, ServiceRefusal, Verdict};

use crate::model::{AccountId, AssetTypeId, ENTRIES_MAX, ENTRIES_MIN, TransactionId, TransactionState};

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the contract's list is kept whole, with the codes that do not arise here")]
pub enum Refusal {
    /// What every service refuses alike.
    Fault(Fault),
    /// Does not arise: the tenant comes from the credential and from nowhere else.
    TenantContextMismatch,
    /// The account is absent or another tenant's.
    AccountNotFound,
    /// The transaction is absent or another tenant's.
    TransactionNotFound,
    /// The asset type is absent or another tenant's.
    AssetTypeNotFound,
    /// The sub-tenant is absent or another tenant's.
    SubTenantNotFound,
    /// The key is absent or another tenant's.
    KeyNotFound,
    /// A frozen or closed account in a posting or a commit. Transient: the same key succeeds once it is active.
    AccountNotActive(AccountId),
    /// Commit or void of a transaction that is final.
    InvalidTransactionState(TransactionState),
    /// Another transaction already carries the external id.
    DuplicateTransaction(TransactionId),
    /// Does not arise: transactions run one after another, none is ever rolled back to be tried again.
    ConflictRetry,
    /// Does not arise: a repeat waits for the first request in the writer and then replays its answer.
    IdempotencyInFlight,
    /// An account with a balance or with pending amounts cannot be closed.
    CloseRequiresZeroBalance,
    /// Does not arise: no route changes or deletes a journal entry.
    AppendOnlyViolation,
    /// A PATCH names a field that never changes, or would reopen a closed account.
    ImmutableViolation(&'static str),
    /// Does not arise: every route but those open to everybody has a tenant.
    TenantContextRequired,
    /// Commit at or after the hold's expiry, swept or not.
    HoldExpired,
    /// Debits and credits of one asset type differ.
    UnbalancedTransaction(AssetTypeId),
    /// The account's floor forbids the movement.
    InsufficientAvailable(AccountId),
    /// The entry (by its field path) has an amount that is no decimal string above zero of at most 28 digits.
    InvalidAmount(String),
    /// The entry (by its field path) has an amount with more fraction digits than the asset's scale.
    InvalidAmountScale {
        /// The amount's field path.
        field: String,
        /// The asset's scale.
        scale: u8,
    },
    /// A floor that is malformed, above what is available, or on an async account.
    InvalidFloor(&'static str),
    /// `expires_at` is missing, malformed, without offset, not in the future, or on a posting that is no hold.
    InvalidExpiresAt(&'static str),
    /// The `state` filter of a statement names no state.
    InvalidState,
    /// `at` is malformed, without offset or in the future.
    InvalidAsOf(&'static str),
    /// `effective_at` is malformed, without offset or in the future.
    InvalidEffectiveAt(&'static str),
    /// Fewer than 2 or more than 100 entries.
    EntryCountOutOfRange(usize),
    /// An entry names an account that is absent or another tenant's.
    ReferenceNotFound {
        /// The field path of the reference.
        field: String,
        /// The account it names.
        account_id: AccountId,
    },
    /// A rule over several rows: an asset code used twice, or an amount that an account's counters cannot hold.
    ConstraintViolation(&'static str),
    /// Does not arise: the more exact codes are used.
    InvalidInput,
    /// A malformed account id; the field path, or `account_id` for one in the request's path.
    InvalidAccountId(String),
    /// Metadata that is no object, or over 16 KiB as canonical JSON.
    InvalidMetadata(&'static str),
    /// An account's name is empty or too long.
    InvalidAccount(&'static str),
    /// A description over 1024 characters.
    InvalidDescription,
    /// An external id that is empty or over 255 characters.
    InvalidExternalId,
    /// A sub-tenant's fields are out of range.
    InvalidTenant(&'static str),
    /// The fields of a sub-tenant's key, or of an item's idempotency_key, are out of range.
    InvalidKey(&'static str),
    /// A code, kind or scale out of range.
    InvalidAssetType(&'static str),
    /// The external authorization system refused to revoke.
    RevocationFailed,
    /// One item of a bulk call that is all or none; counted from 0.
    InBulk {
        /// The item.
        index: usize,
        /// Why it was refused.
        refusal: Box<Refusal>,
    },
}

impl quintet_storage::Refusal for Refusal {}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

impl Refusal {
    /// A problem with one field.
    #[must_use]
    pub fn field(field: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal::Fault(Fault::Shape(vec![Problem::new(field, problem)]))
    }

    /// A mistake of the ledger.
    #[must_use]
    pub fn internal() -> Refusal {
        Refusal::Fault(Fault::Internal)
    }

    fn status_and_code(&self) -> (u16, &'static str) {
        match self {
            Refusal::InBulk { refusal, .. } => refusal.status_and_code(),
            Refusal::Fault(fault) => code_of_fault(fault),
            Refusal::TenantContextMismatch => (403, "TENANT_CONTEXT_MISMATCH"),
            Refusal::AccountNotFound => (404, "ACCOUNT_NOT_FOUND"),
            Refusal::TransactionNotFound => (404, "TRANSACTION_NOT_FOUND"),
            Refusal::AssetTypeNotFound => (404, "ASSET_TYPE_NOT_FOUND"),
            Refusal::SubTenantNotFound => (404, "SUB_TENANT_NOT_FOUND"),
            Refusal::KeyNotFound => (404, "KEY_NOT_FOUND"),
            Refusal::AccountNotActive(_) => (409, "ACCOUNT_NOT_ACTIVE"),
            Refusal::InvalidTransactionState(_) => (409, "INVALID_TRANSACTION_STATE"),
            Refusal::DuplicateTransaction(_) => (409, "DUPLICATE_TRANSACTION"),
            Refusal::ConflictRetry => (409, "CONFLICT_RETRY"),
            Refusal::IdempotencyInFlight => (409, "IDEMPOTENCY_IN_FLIGHT"),
            Refusal::CloseRequiresZeroBalance => (409, "CLOSE_REQUIRES_ZERO_BALANCE"),
            Refusal::AppendOnlyViolation => (409, "APPEND_ONLY_VIOLATION"),
            Refusal::ImmutableViolation(_) => (409, "IMMUTABLE_VIOLATION"),
            Refusal::TenantContextRequired => (409, "TENANT_CONTEXT_REQUIRED"),
            Refusal::HoldExpired => (410, "HOLD_EXPIRED"),
            Refusal::UnbalancedTransaction(_) => (422, "UNBALANCED_TRANSACTION"),
            Refusal::InsufficientAvailable(_) => (422, "INSUFFICIENT_AVAILABLE"),
            Refusal::InvalidAmount(_) => (422, "INVALID_AMOUNT"),
            Refusal::InvalidAmountScale { .. } => (422, "INVALID_AMOUNT_SCALE"),
            Refusal::InvalidFloor(_) => (422, "INVALID_FLOOR"),
            Refusal::InvalidExpiresAt(_) => (422, "INVALID_EXPIRES_AT"),
            Refusal::InvalidState => (422, "INVALID_STATE"),
            Refusal::InvalidAsOf(_) => (422, "INVALID_AS_OF"),
            Refusal::InvalidEffectiveAt(_) => (422, "INVALID_EFFECTIVE_AT"),
            Refusal::EntryCountOutOfRange(_) => (422, "ENTRY_COUNT_OUT_OF_RANGE"),
            Refusal::ReferenceNotFound { .. } => (422, "REFERENCE_NOT_FOUND"),
            Refusal::ConstraintViolation(_) => (422, "CONSTRAINT_VIOLATION"),
            Refusal::InvalidInput => (422, "INVALID_INPUT"),
            Refusal::InvalidAccountId(_) => (422, "INVALID_ACCOUNT_ID"),
            Refusal::InvalidMetadata(_) => (422, "INVALID_METADATA"),
            Refusal::InvalidAccount(_) => (422, "INVALID_ACCOUNT"),
            Refusal::InvalidDescription => (422, "INVALID_DESCRIPTION"),
            Refusal::InvalidExternalId => (422, "INVALID_EXTERNAL_ID"),
            Refusal::InvalidTenant(_) => (422, "INVALID_TENANT"),
            Refusal::InvalidKey(_) => (422, "INVALID_KEY"),
            Refusal::InvalidAssetType(_) => (422, "INVALID_ASSET_TYPE"),
            Refusal::RevocationFailed => (502, "REVOCATION_FAILED"),
        }
    }

    fn is_mismatch(&self) -> bool {
        match self {
            Refusal::InBulk { refusal, .. } => refusal.is_mismatch(),
            refusal => matches!(refusal, Refusal::Fault(Fault::KeyReused)),
        }
    }

    /// How long to wait before a repeat that may fare better, in seconds; on transient refusals alone.
    fn retry_after_seconds(&self) -> Option<u64> {
        match self {
            Refusal::InBulk { refusal, .. } => refusal.retry_after_seconds(),
            Refusal::AccountNotActive(_) => Some(5),
            Refusal::ConflictRetry | Refusal::IdempotencyInFlight => Some(1),
            Refusal::Fault(fault) => match fault {
                Fault::RateLimited(seconds) | Fault::QuotaExceeded(seconds) => Some(*seconds),
                Fault::Busy | Fault::KeyInProgress => Some(1),
                Fault::DiskReserve => Some(10),
                Fault::AppliancesCredentialRejected => Some(30),
                Fault::AuthorizationUnavailable
                | Fault::WritingStopped
                | Fault::OutcomeUnknown
                | Fault::Unreadable
                | Fault::BodyTimedOut => Some(5),
                _ => None,
            },
            _ => None,
        }
    }

    /// What the answer's `details` say.
    fn details(&self) -> Vec<(&'static str, Json)> {
        let field = |field: &str| vec![("field", Json::from(field))];
        let reason = |reason: &str| vec![("reason", Json::from(reason))];
        match self {
            Refusal::InBulk { index, refusal } => {
                let mut details = refusal.details();
                details.push(("index", Json::from(*index)));
                details
            }
            Refusal::Fault(Fault::KeyMalformed(most)) => {
                reason(&format!("Idempotency-Key is one text of 1 to {most} characters"))
            }
            Refusal::Fault(Fault::HostMissing) => reason("HTTP/1.1 needs one Host header"),
            Refusal::Fault(Fault::KeyMissing | Fault::Json(JsonError::TooDeep)) => Vec::new(),
            Refusal::Fault(fault) => of_problems(&problems_of(fault)),
            Refusal::AccountNotActive(id) | Refusal::InsufficientAvailable(id) => {
                vec![("account_id", Json::from(id.to_string()))]
            }
            Refusal::InvalidTransactionState(state) => vec![("state", Json::from(state.as_str()))],
            Refusal::DuplicateTransaction(id) => vec![("transaction_id", Json::from(id.to_string()))],
            Refusal::UnbalancedTransaction(id) => vec![("asset_type_id", Json::from(id.to_string()))],
            Refusal::InvalidAmount(name) | Refusal::InvalidAccountId(name) => field(name),
            Refusal::ImmutableViolation(name) => field(name),
            Refusal::InvalidAmountScale { field: name, scale } => {
                vec![("field", Json::from(name.as_str())), ("scale", Json::from(*scale))]
            }
            Refusal::ReferenceNotFound { field: name, account_id } => {
                vec![("field", Json::from(name.as_str())), ("account_id", Json::from(account_id.to_string()))]
            }
            Refusal::EntryCountOutOfRange(count) => vec![
                ("entries", Json::from(*count)),
                ("minimum", Json::from(ENTRIES_MIN)),
                ("maximum", Json::from(ENTRIES_MAX)),
            ],
            Refusal::InvalidFloor(why)
            | Refusal::InvalidExpiresAt(why)
            | Refusal::InvalidAsOf(why)
            | Refusal::InvalidEffectiveAt(why)
            | Refusal::InvalidMetadata(why)
            | Refusal::InvalidAccount(why)
            | Refusal::InvalidTenant(why)
            | Refusal::InvalidKey(why)
            | Refusal::InvalidAssetType(why)
            | Refusal::ConstraintViolation(why) => reason(why),
            _ => Vec::new(),
        }
    }
}

impl ServiceRefusal for Refusal {
    /// Status, code, details and Retry-After; the members of the verdict are those of `details`.
    fn verdict(&self) -> Verdict {
        let (status, code) = self.status_and_code();
        let mut verdict = Verdict::new(status, code);
        verdict.members = self.details();
        verdict.retry_after_seconds = self.retry_after_seconds();
        verdict
    }

    /// 409, 410 and 422 that a repeat cannot change. A mismatched key is another request's business.
    fn is_final(&self) -> bool {
        let (status, _) = self.status_and_code();
        matches!(status, 409 | 410 | 422) && self.retry_after_seconds().is_none() && !self.is_mismatch()
    }
}

/// The ledger's codes for what every service refuses alike.
///
/// `STATEMENT_TIMEOUT` is the contract's code for "undetermined, retry": it stands for an unknown outcome, for writing that
/// has stopped, for reads the operating system refuses, and for a body that has not arrived, which says nothing about the
/// request. What cannot be mended by asking again is `INTERNAL_ERROR`.
fn code_of_fault(fault: &Fault) -> (u16, &'static str) {
    match fault {
        // What is no proper HTTP.
        Fault::HostMissing | Fault::BodyBroken => (400, "INVALID_REQUEST"),
        Fault::KeyMissing => (400, "MISSING_IDEMPOTENCY_KEY"),
        Fault::Unauthenticated => (401, "UNAUTHENTICATED"),
        Fault::CredentialExpired => (401, "CREDENTIAL_EXPIRED"),
        Fault::Forbidden => (403, "FORBIDDEN"),
        Fault::TenantSuspended => (403, "TENANT_SUSPENDED"),
        Fault::TenantNotProvisioned => (403, "TENANT_NOT_PROVISIONED"),
        Fault::NoSuchPath => (404, "NOT_FOUND"),
        Fault::MethodNotAllowed => (405, "METHOD_NOT_ALLOWED"),
        Fault::Busy => (409, "LOCK_TIMEOUT"),
        Fault::DiskReserve => (409, "POSTING_FROZEN"),
        Fault::KeyInProgress => (409, "IDEMPOTENCY_IN_FLIGHT"),
        Fault::BodyTooLarge => (413, "PAYLOAD_TOO_LARGE"),
        Fault::KeyReused => (422, "IDEMPOTENCY_KEY_MISMATCH"),
        Fault::KeyMalformed(_) => (422, "INVALID_KEY"),
        Fault::Json(JsonError::TooDeep) => (422, "INVALID_JSON_DEPTH"),
        Fault::Json(_) | Fault::Query { .. } | Fault::Shape(_) | Fault::MediaTypeUnsupported => {
            (422, "INVALID_REQUEST")
        }
        Fault::RateLimited(_) => (429, "RATE_LIMITED"),
        Fault::QuotaExceeded(_) => (429, "QUOTA_EXCEEDED"),
        Fault::Internal => (500, "INTERNAL_ERROR"),
        Fault::AuthorizationUnavailable => (503, "AUTHZ_UNAVAILABLE"),
        Fault::AppliancesCredentialRejected => (503, "AUTHZ_CREDENTIAL_REJECTED"),
        Fault::WritingStopped | Fault::OutcomeUnknown | Fault::Unreadable | Fault::BodyTimedOut => {
            (503, "STATEMENT_TIMEOUT")
        }
    }
}

/// What is wrong with which field. The ledger names the member that is given twice, and a parameter in its sentence, too.
fn problems_of(fault: &Fault) -> Vec<Problem> {
    match fault {
        Fault::Json(JsonError::DuplicateKey { path }) => vec![Problem::new(path, "is given twice")],
        Fault::Json(JsonError::Empty) => vec![Problem::new("", "a JSON object is required")],
        Fault::Query { error, .. } => {
            let field = match error {
                QueryError::Duplicate(name) | QueryError::Missing(name) | QueryError::Invalid { name, .. } => {
                    name.clone()
                }
                QueryError::Unknown(names) => names.join(", "),
                QueryError::Malformed | QueryError::TooMany => String::new(),
            };
            vec![Problem::new(field, error.to_string())]
        }
        fault => fault.problems(),
    }
}

fn of_problems(problems: &[Problem]) -> Vec<(&'static str, Json)> {
    if problems.is_empty() {
        return Vec::new();
    }
    let member = |Problem { field, problem }: &Problem| {
        Json::object([("field", Json::from(field.as_str())), ("problem", Json::from(problem.as_str()))])
    };
    vec![("fields", Json::Array(problems.iter().map(member).collect()))]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quintet_storage::{Failure, Uuid};

    use super::*;
    use crate::explain::{EXPLANATIONS, explain};

    /// The contract's table of errors, status by status.
    const CONTRACT: &[(u16, &str)] = &[
        // HTTP's own rule about Host is none of the contract's.
        (400, "MISSING_IDEMPOTENCY_KEY INVALID_REQUEST"),
        (401, "UNAUTHENTICATED CREDENTIAL_EXPIRED"),
        (403, "FORBIDDEN TENANT_SUSPENDED TENANT_NOT_PROVISIONED TENANT_CONTEXT_MISMATCH"),
        (
            404,
            "ACCOUNT_NOT_FOUND TRANSACTION_NOT_FOUND ASSET_TYPE_NOT_FOUND SUB_TENANT_NOT_FOUND KEY_NOT_FOUND NOT_FOUND",
        ),
        (405, "METHOD_NOT_ALLOWED"),
        (409, "ACCOUNT_NOT_ACTIVE INVALID_TRANSACTION_STATE DUPLICATE_TRANSACTION LOCK_TIMEOUT CONFLICT_RETRY"),
        (409, "POSTING_FROZEN IDEMPOTENCY_IN_FLIGHT CLOSE_REQUIRES_ZERO_BALANCE APPEND_ONLY_VIOLATION"),
        (409, "IMMUTABLE_VIOLATION TENANT_CONTEXT_REQUIRED"),
        (410, "HOLD_EXPIRED"),
        (413, "PAYLOAD_TOO_LARGE"),
        (422, "UNBALANCED_TRANSACTION INSUFFICIENT_AVAILABLE INVALID_AMOUNT INVALID_AMOUNT_SCALE INVALID_FLOOR"),
        (422, "INVALID_EXPIRES_AT INVALID_STATE INVALID_AS_OF INVALID_EFFECTIVE_AT IDEMPOTENCY_KEY_MISMATCH"),
        (422, "ENTRY_COUNT_OUT_OF_RANGE REFERENCE_NOT_FOUND CONSTRAINT_VIOLATION INVALID_INPUT INVALID_ACCOUNT_ID"),
        (422, "INVALID_METADATA INVALID_ACCOUNT INVALID_DESCRIPTION INVALID_EXTERNAL_ID INVALID_JSON_DEPTH"),
        (422, "INVALID_REQUEST INVALID_TENANT INVALID_KEY INVALID_ASSET_TYPE"),
        (429, "RATE_LIMITED QUOTA_EXCEEDED"),
        (500, "INTERNAL_ERROR"),
        (502, "REVOCATION_FAILED"),
        (503, "AUTHZ_UNAVAILABLE AUTHZ_CREDENTIAL_REJECTED STATEMENT_TIMEOUT"),
    ];

    /// The 409s that a repeat can change.
    const TRANSIENT: [&str; 5] =
        ["ACCOUNT_NOT_ACTIVE", "LOCK_TIMEOUT", "CONFLICT_RETRY", "POSTING_FROZEN", "IDEMPOTENCY_IN_FLIGHT"];

    fn every() -> Vec<Refusal> {
        let account = AccountId(Uuid::nil());
        let transaction = TransactionId(Uuid::nil());
        vec![
            Fault::KeyMissing.into(),
            Fault::Unauthenticated.into(),
            Fault::CredentialExpired.into(),
            Fault::Forbidden.into(),
            Fault::TenantSuspended.into(),
            Fault::TenantNotProvisioned.into(),
            Refusal::TenantContextMismatch,
            Refusal::AccountNotFound,
            Refusal::TransactionNotFound,
            Refusal::AssetTypeNotFound,
            Refusal::SubTenantNotFound,
            Refusal::KeyNotFound,
            Fault::NoSuchPath.into(),
            Fault::MethodNotAllowed.into(),
            Refusal::AccountNotActive(account),
            Refusal::InvalidTransactionState(TransactionState::Voided),
            Refusal::DuplicateTransaction(transaction),
            Fault::Busy.into(),
            Refusal::ConflictRetry,
            Fault::DiskReserve.into(),
            Refusal::IdempotencyInFlight,
            Refusal::CloseRequiresZeroBalance,
            Refusal::AppendOnlyViolation,
            Refusal::ImmutableViolation("scale"),
            Refusal::TenantContextRequired,
            Refusal::HoldExpired,
            Fault::BodyTooLarge.into(),
            Refusal::UnbalancedTransaction(AssetTypeId(Uuid::nil())),
            Refusal::InsufficientAvailable(account),
            Refusal::InvalidAmount("entries[0].amount".into()),
            Refusal::InvalidAmountScale { field: "entries[0].amount".into(), scale: 2 },
            Refusal::InvalidFloor(""),
            Refusal::InvalidExpiresAt(""),
            Refusal::InvalidState,
            Refusal::InvalidAsOf(""),
            Refusal::InvalidEffectiveAt(""),
            Fault::KeyReused.into(),
            Refusal::EntryCountOutOfRange(1),
            Refusal::ReferenceNotFound { field: "entries[0].account_id".into(), account_id: account },
            Refusal::ConstraintViolation(""),
            Refusal::InvalidInput,
            Refusal::InvalidAccountId("account_id".into()),
            Refusal::InvalidMetadata(""),
            Refusal::InvalidAccount(""),
            Refusal::InvalidDescription,
            Refusal::InvalidExternalId,
            Fault::Json(JsonError::TooDeep).into(),
            Fault::HostMissing.into(),
            Refusal::field("name", "is required"),
            Refusal::InvalidTenant(""),
            Refusal::InvalidKey(""),
            Refusal::InvalidAssetType(""),
            Fault::RateLimited(3).into(),
            Fault::QuotaExceeded(60).into(),
            Refusal::internal(),
            Refusal::RevocationFailed,
            Fault::AuthorizationUnavailable.into(),
            Fault::AppliancesCredentialRejected.into(),
            Fault::OutcomeUnknown.into(),
        ]
    }

    #[test]
    fn every_code_of_the_contract_has_its_status() {
        let expected: BTreeSet<(u16, &str)> =
            CONTRACT.iter().flat_map(|(status, codes)| codes.split(' ').map(|code| (*status, code))).collect();
        let got: BTreeSet<(u16, &str)> =
            every().iter().map(|refusal| (refusal.verdict().status, refusal.verdict().code)).collect();
        assert_eq!(got, expected);
        assert_eq!(every().len(), expected.len());
    }

    #[test]
    fn retry_after_marks_exactly_what_a_repeat_can_change() {
        for refusal in every() {
            let verdict = refusal.verdict();
            let transient = matches!(verdict.status, 429 | 503) || TRANSIENT.contains(&verdict.code);
            assert_eq!(verdict.retry_after_seconds.is_some(), transient, "{}", verdict.code);
            let kept = matches!(verdict.status, 409 | 410 | 422) && !transient;
            assert_eq!(refusal.is_final(), kept && verdict.code != "IDEMPOTENCY_KEY_MISMATCH", "{}", verdict.code);
        }
    }

    #[test]
    fn every_code_is_explained() {
        let told: Vec<(u16, &str, bool)> =
            EXPLANATIONS.iter().map(|known| (known.status, known.code, known.is_transient)).collect();
        let mut expected: Vec<(u16, &str, bool)> = every()
            .iter()
            .map(Refusal::verdict)
            .map(|verdict| (verdict.status, verdict.code, verdict.retry_after_seconds.is_some()))
            .collect();
        expected.sort_by_key(|(status, ..)| *status);
        assert_eq!(told.len(), expected.len());
        for one in expected {
            assert!(told.contains(&one), "{one:?}");
        }
        assert_eq!(explain("hold_expired").map(|known| known.status), Some(410));
        assert_eq!(explain("NO_SUCH_CODE"), None);
    }

    #[test]
    fn an_item_of_a_bulk_call_keeps_its_verdict() {
        let inner = Refusal::InsufficientAvailable(AccountId(Uuid::nil()));
        let item = Refusal::InBulk { index: 3, refusal: Box::new(inner.clone()) };
        assert_eq!((item.verdict().code, item.is_final()), (inner.verdict().code, true));
        assert_eq!(item.details(), [inner.details(), vec![("index", Json::from(3))]].concat());
        let mismatch = Refusal::InBulk { index: 0, refusal: Box::new(Fault::KeyReused.into()) };
        assert_eq!((mismatch.is_final(), mismatch.details()), (false, vec![("index", Json::from(0))]));
    }

    #[test]
    fn failures_of_the_store_have_codes() {
        let code = |failure| Refusal::from(Fault::of_failure(&failure)).verdict().code;
        assert_eq!(code(Failure::Busy), "LOCK_TIMEOUT");
        assert_eq!(code(Failure::StorageFull), "POSTING_FROZEN");
        assert_eq!(code(Failure::Stopped), "STATEMENT_TIMEOUT");
        assert_eq!(code(Failure::OutcomeUnknown), "STATEMENT_TIMEOUT");
        assert_eq!(code(Failure::Io("x".into())), "STATEMENT_TIMEOUT");
        assert_eq!(code(Failure::Damaged("x".into())), "INTERNAL_ERROR");
        assert_eq!(code(Failure::TooLarge), "INTERNAL_ERROR");
        assert_eq!(code(Failure::Panicked), "INTERNAL_ERROR");
    }

    #[test]
    fn details_name_what_the_contract_asks_for() {
        let id = Json::from("00000000-0000-0000-0000-000000000000");
        let insufficient = Refusal::InsufficientAvailable(AccountId(Uuid::nil()));
        assert_eq!(insufficient.details(), [("account_id", id.clone())]);
        let duplicate = Refusal::DuplicateTransaction(TransactionId(Uuid::nil()));
        assert_eq!(duplicate.details(), [("transaction_id", id)]);
        let field = Json::object([("field", Json::from("name")), ("problem", Json::from("is required"))]);
        assert_eq!(Refusal::field("name", "is required").details(), [("fields", Json::Array(vec![field]))]);
        assert_eq!(Refusal::internal().details(), []);
        let twice: Refusal = Fault::Json(JsonError::DuplicateKey { path: "a".to_owned() }).into();
        let field = Json::object([("field", Json::from("a")), ("problem", Json::from("is given twice"))]);
        assert_eq!(twice.details(), [("fields", Json::Array(vec![field]))]);
    }
}
