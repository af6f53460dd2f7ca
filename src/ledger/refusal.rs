//! Every way the ledger says no, and the one place that turns it into a status and a stable code.
//!
//! The list is the contract's, whole. Codes that this engine has no occasion for are kept so that their meaning
//! stays fixed; each says why it does not arise.

use quintet_storage::Failure;
use serde_json::{Value, json};

use crate::model::{AccountId, AssetTypeId, ENTRIES_MAX, ENTRIES_MIN, TransactionId, TransactionState};

/// One thing wrong with one field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The field's path, such as `entries[0].amount`; the parameter's name in a query. Empty: the whole body.
    pub field: String,
    /// What is wrong, never with the value itself.
    pub problem: String,
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the contract's list is kept whole, with the codes that do not arise here")]
pub enum Refusal {
    /// A mutating request without the header.
    MissingIdempotencyKey,
    /// No credential, or a malformed, unknown or revoked one.
    Unauthenticated,
    /// A credential past its end.
    CredentialExpired,
    /// A valid credential without the permission the route needs.
    Forbidden,
    /// The tenant or its parent is suspended.
    TenantSuspended,
    /// The credential's tenant has no ledger.
    TenantNotProvisioned,
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
    /// No such path.
    NotFound,
    /// The path exists, the method does not; the answer carries `Allow`.
    MethodNotAllowed,
    /// A frozen or closed account in a posting or a commit. Transient: the same key succeeds once it is active.
    AccountNotActive(AccountId),
    /// Commit or void of a transaction that is final.
    InvalidTransactionState(TransactionState),
    /// Another transaction already carries the external id.
    DuplicateTransaction(TransactionId),
    /// The one writer did not get to the request in time; nothing was done.
    LockTimeout,
    /// Does not arise: transactions run one after another, none is ever rolled back to be tried again.
    ConflictRetry,
    /// Free disk space is below the reserve; nothing was done.
    PostingFrozen,
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
    /// The body is over the cap.
    PayloadTooLarge,
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
    /// The key was used for another request.
    IdempotencyKeyMismatch,
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
    /// The body nests deeper than 64 levels.
    InvalidJsonDepth,
    /// Malformed JSON, unknown, duplicate, missing or ill-typed fields or parameters.
    InvalidRequest(Vec<FieldProblem>),
    /// A sub-tenant's fields are out of range.
    InvalidTenant(&'static str),
    /// An Idempotency-Key that is given twice, is no text, or is longer than 255 characters; or a sub-tenant key's
    /// fields out of range.
    InvalidKey(&'static str),
    /// A code, kind or scale out of range.
    InvalidAssetType(&'static str),
    /// Over the edge rate of the source address; seconds until the next request may pass.
    RateLimited(u32),
    /// Over the tenant's metered allowance; seconds until it opens again.
    QuotaExceeded(u32),
    /// A defect or damaged data. Constant body.
    InternalError,
    /// The external authorization system refused to revoke.
    RevocationFailed,
    /// The external authorization system could not be asked.
    AuthzUnavailable,
    /// The external authorization system refuses the appliance's own credential.
    AuthzCredentialRejected,
    /// One item of a bulk call that is all or none; counted from 0.
    InBulk {
        /// The item.
        index: usize,
        /// Why it was refused.
        refusal: Box<Refusal>,
    },
    /// Storage cannot answer, or cannot say whether the change survived; or the request's body was cut short or did
    /// not arrive in time. Ask again with the same key.
    StatementTimeout,
}

impl quintet_storage::Refusal for Refusal {}

/// How a refusal is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// Seconds for `Retry-After`; present exactly on transient refusals.
    pub retry_after_seconds: Option<u32>,
    /// One sentence for people.
    pub message: &'static str,
}

const fn last(status: u16, code: &'static str, message: &'static str) -> Verdict {
    Verdict { status, code, retry_after_seconds: None, message }
}

const fn transient(status: u16, code: &'static str, seconds: u32, message: &'static str) -> Verdict {
    Verdict { status, code, retry_after_seconds: Some(seconds), message }
}

impl Refusal {
    /// A problem with one field.
    #[must_use]
    pub fn field(field: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal::InvalidRequest(vec![FieldProblem { field: field.into(), problem: problem.into() }])
    }

    /// Status, code, message and Retry-After.
    #[must_use]
    #[rustfmt::skip]
    pub fn verdict(&self) -> Verdict {
        match self {
            Refusal::InBulk { refusal, .. } => refusal.verdict(),
            Refusal::MissingIdempotencyKey => last(400, "MISSING_IDEMPOTENCY_KEY", "A mutating request needs the header Idempotency-Key."),
            Refusal::Unauthenticated => last(401, "UNAUTHENTICATED", "A valid API key is required."),
            Refusal::CredentialExpired => last(401, "CREDENTIAL_EXPIRED", "The API key has expired."),
            Refusal::Forbidden => last(403, "FORBIDDEN", "The API key lacks the permission this route needs."),
            Refusal::TenantSuspended => last(403, "TENANT_SUSPENDED", "The tenant is suspended."),
            Refusal::TenantNotProvisioned => last(403, "TENANT_NOT_PROVISIONED", "The tenant is not provisioned for the ledger."),
            Refusal::TenantContextMismatch => last(403, "TENANT_CONTEXT_MISMATCH", "The request's tenant is not the credential's."),
            Refusal::AccountNotFound => last(404, "ACCOUNT_NOT_FOUND", "There is no such account."),
            Refusal::TransactionNotFound => last(404, "TRANSACTION_NOT_FOUND", "There is no such transaction."),
            Refusal::AssetTypeNotFound => last(404, "ASSET_TYPE_NOT_FOUND", "There is no such asset type."),
            Refusal::SubTenantNotFound => last(404, "SUB_TENANT_NOT_FOUND", "There is no such sub-tenant."),
            Refusal::KeyNotFound => last(404, "KEY_NOT_FOUND", "There is no such key."),
            Refusal::NotFound => last(404, "NOT_FOUND", "There is no such path."),
            Refusal::MethodNotAllowed => last(405, "METHOD_NOT_ALLOWED", "The path does not take this method."),
            Refusal::AccountNotActive(_) => transient(409, "ACCOUNT_NOT_ACTIVE", 5, "The account is frozen or closed."),
            Refusal::InvalidTransactionState(_) => last(409, "INVALID_TRANSACTION_STATE", "The transaction is final."),
            Refusal::DuplicateTransaction(_) => last(409, "DUPLICATE_TRANSACTION", "A transaction with this external_id exists."),
            Refusal::LockTimeout => transient(409, "LOCK_TIMEOUT", 1, "The ledger is busy; nothing was changed."),
            Refusal::ConflictRetry => transient(409, "CONFLICT_RETRY", 1, "The request met another one; nothing was changed."),
            Refusal::PostingFrozen => transient(409, "POSTING_FROZEN", 10, "The ledger takes no changes for want of disk space."),
            Refusal::IdempotencyInFlight => transient(409, "IDEMPOTENCY_IN_FLIGHT", 1, "A request with this key is being worked on."),
            Refusal::CloseRequiresZeroBalance => last(409, "CLOSE_REQUIRES_ZERO_BALANCE", "Only an account without balance and pending amounts can be closed."),
            Refusal::AppendOnlyViolation => last(409, "APPEND_ONLY_VIOLATION", "The journal only grows."),
            Refusal::ImmutableViolation(_) => last(409, "IMMUTABLE_VIOLATION", "The field cannot be changed."),
            Refusal::TenantContextRequired => last(409, "TENANT_CONTEXT_REQUIRED", "The request needs a tenant."),
            Refusal::HoldExpired => last(410, "HOLD_EXPIRED", "The hold expired before it was settled."),
            Refusal::PayloadTooLarge => last(413, "PAYLOAD_TOO_LARGE", "The body is too large."),
            Refusal::UnbalancedTransaction(_) => last(422, "UNBALANCED_TRANSACTION", "Debits must equal credits for each asset type."),
            Refusal::InsufficientAvailable(_) => last(422, "INSUFFICIENT_AVAILABLE", "The account's floor does not allow this."),
            Refusal::InvalidAmount(_) => last(422, "INVALID_AMOUNT", "An amount is a decimal string above zero, without sign or exponent, of at most 28 digits."),
            Refusal::InvalidAmountScale { .. } => last(422, "INVALID_AMOUNT_SCALE", "The amount has more fraction digits than the asset's scale."),
            Refusal::InvalidFloor(_) => last(422, "INVALID_FLOOR", "The balance floor cannot be set to this."),
            Refusal::InvalidExpiresAt(_) => last(422, "INVALID_EXPIRES_AT", "expires_at does not fit."),
            Refusal::InvalidState => last(422, "INVALID_STATE", "state is one of pending, committed, voided, expired."),
            Refusal::InvalidAsOf(_) => last(422, "INVALID_AS_OF", "at does not fit."),
            Refusal::InvalidEffectiveAt(_) => last(422, "INVALID_EFFECTIVE_AT", "effective_at does not fit."),
            Refusal::IdempotencyKeyMismatch => last(422, "IDEMPOTENCY_KEY_MISMATCH", "The Idempotency-Key was used for another request."),
            Refusal::EntryCountOutOfRange(_) => last(422, "ENTRY_COUNT_OUT_OF_RANGE", "A transaction has 2 to 100 entries."),
            Refusal::ReferenceNotFound { .. } => last(422, "REFERENCE_NOT_FOUND", "The request refers to something that does not exist."),
            Refusal::ConstraintViolation(_) => last(422, "CONSTRAINT_VIOLATION", "The request breaks a rule of the ledger."),
            Refusal::InvalidInput => last(422, "INVALID_INPUT", "The input is not valid."),
            Refusal::InvalidAccountId(_) => last(422, "INVALID_ACCOUNT_ID", "The account id is malformed."),
            Refusal::InvalidMetadata(_) => last(422, "INVALID_METADATA", "metadata is an object of at most 16 KiB."),
            Refusal::InvalidAccount(_) => last(422, "INVALID_ACCOUNT", "The account's fields do not fit."),
            Refusal::InvalidDescription => last(422, "INVALID_DESCRIPTION", "description has at most 1024 characters."),
            Refusal::InvalidExternalId => last(422, "INVALID_EXTERNAL_ID", "external_id has 1 to 255 characters."),
            Refusal::InvalidJsonDepth => last(422, "INVALID_JSON_DEPTH", "The body nests deeper than 64 levels."),
            Refusal::InvalidRequest(_) => last(422, "INVALID_REQUEST", "The request is not valid; details name the fields."),
            Refusal::InvalidTenant(_) => last(422, "INVALID_TENANT", "The sub-tenant's fields do not fit."),
            Refusal::InvalidKey(_) => last(422, "INVALID_KEY", "The key does not fit."),
            Refusal::InvalidAssetType(_) => last(422, "INVALID_ASSET_TYPE", "The asset type's fields do not fit."),
            Refusal::RateLimited(seconds) => transient(429, "RATE_LIMITED", *seconds, "Too many requests from this address."),
            Refusal::QuotaExceeded(seconds) => transient(429, "QUOTA_EXCEEDED", *seconds, "The tenant's allowance is used up."),
            Refusal::InternalError => last(500, "INTERNAL_ERROR", "Something went wrong inside the ledger."),
            Refusal::RevocationFailed => last(502, "REVOCATION_FAILED", "The key was not revoked; nothing was changed."),
            Refusal::AuthzUnavailable => transient(503, "AUTHZ_UNAVAILABLE", 5, "Authorization cannot be checked at present."),
            Refusal::AuthzCredentialRejected => transient(503, "AUTHZ_CREDENTIAL_REJECTED", 30, "Authorization cannot be checked at present."),
            Refusal::StatementTimeout => transient(503, "STATEMENT_TIMEOUT", 5, "The request was not completed, or its outcome is not known; repeat it with the same Idempotency-Key."),
        }
    }

    /// Whether the answer is the request's last word, to be kept for replays: 409, 410 and 422 that a repeat
    /// cannot change. A mismatched key is another request's business.
    #[must_use]
    pub fn is_final(&self) -> bool {
        let verdict = self.verdict();
        matches!(verdict.status, 409 | 410 | 422) && verdict.retry_after_seconds.is_none() && !self.is_mismatch()
    }

    fn is_mismatch(&self) -> bool {
        match self {
            Refusal::InBulk { refusal, .. } => refusal.is_mismatch(),
            refusal => matches!(refusal, Refusal::IdempotencyKeyMismatch),
        }
    }

    /// What the answer's `details` say.
    #[must_use]
    pub fn details(&self) -> Option<Value> {
        match self {
            Refusal::InBulk { index, refusal } => {
                let mut details = refusal.details().unwrap_or_else(|| json!({}));
                if let Some(members) = details.as_object_mut() {
                    members.insert("index".to_owned(), json!(index));
                }
                Some(details)
            }
            Refusal::AccountNotActive(id) | Refusal::InsufficientAvailable(id) => {
                Some(json!({"account_id": id.to_string()}))
            }
            Refusal::InvalidTransactionState(state) => Some(json!({"state": state.as_str()})),
            Refusal::DuplicateTransaction(id) => Some(json!({"transaction_id": id.to_string()})),
            Refusal::UnbalancedTransaction(id) => Some(json!({"asset_type_id": id.to_string()})),
            Refusal::InvalidAmount(field) | Refusal::InvalidAccountId(field) => Some(json!({"field": field})),
            Refusal::InvalidAmountScale { field, scale } => Some(json!({"field": field, "scale": scale})),
            Refusal::ReferenceNotFound { field, account_id } => {
                Some(json!({"field": field, "account_id": account_id.to_string()}))
            }
            Refusal::EntryCountOutOfRange(count) => {
                Some(json!({"entries": count, "minimum": ENTRIES_MIN, "maximum": ENTRIES_MAX}))
            }
            Refusal::ImmutableViolation(field) => Some(json!({"field": field})),
            Refusal::InvalidFloor(reason)
            | Refusal::InvalidExpiresAt(reason)
            | Refusal::InvalidAsOf(reason)
            | Refusal::InvalidEffectiveAt(reason)
            | Refusal::InvalidMetadata(reason)
            | Refusal::InvalidAccount(reason)
            | Refusal::InvalidTenant(reason)
            | Refusal::InvalidKey(reason)
            | Refusal::InvalidAssetType(reason)
            | Refusal::ConstraintViolation(reason) => Some(json!({"reason": reason})),
            Refusal::InvalidRequest(problems) => {
                let fields: Vec<Value> = problems
                    .iter()
                    .map(|problem| json!({"field": problem.field, "problem": problem.problem}))
                    .collect();
                Some(json!({"fields": fields}))
            }
            _ => None,
        }
    }

    /// The answer to a failure of the store.
    ///
    /// `STATEMENT_TIMEOUT` is the contract's code for "undetermined, retry": it stands for an unknown outcome,
    /// for writing that has stopped and for reads the operating system refuses. What cannot be mended by asking
    /// again is `INTERNAL_ERROR`.
    #[must_use]
    pub fn of_failure(failure: &Failure) -> Refusal {
        match failure {
            Failure::Busy => Refusal::LockTimeout,
            Failure::StorageFull => Refusal::PostingFrozen,
            Failure::Stopped | Failure::OutcomeUnknown | Failure::Io(_) => Refusal::StatementTimeout,
            Failure::Damaged(_) | Failure::TooLarge | Failure::Panicked => Refusal::InternalError,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quintet_storage::Uuid;

    use super::*;
    use crate::explain::{EXPLANATIONS, explain};

    /// The contract's table of errors, status by status.
    const CONTRACT: &[(u16, &str)] = &[
        (400, "MISSING_IDEMPOTENCY_KEY"),
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
            Refusal::MissingIdempotencyKey,
            Refusal::Unauthenticated,
            Refusal::CredentialExpired,
            Refusal::Forbidden,
            Refusal::TenantSuspended,
            Refusal::TenantNotProvisioned,
            Refusal::TenantContextMismatch,
            Refusal::AccountNotFound,
            Refusal::TransactionNotFound,
            Refusal::AssetTypeNotFound,
            Refusal::SubTenantNotFound,
            Refusal::KeyNotFound,
            Refusal::NotFound,
            Refusal::MethodNotAllowed,
            Refusal::AccountNotActive(account),
            Refusal::InvalidTransactionState(TransactionState::Voided),
            Refusal::DuplicateTransaction(transaction),
            Refusal::LockTimeout,
            Refusal::ConflictRetry,
            Refusal::PostingFrozen,
            Refusal::IdempotencyInFlight,
            Refusal::CloseRequiresZeroBalance,
            Refusal::AppendOnlyViolation,
            Refusal::ImmutableViolation("scale"),
            Refusal::TenantContextRequired,
            Refusal::HoldExpired,
            Refusal::PayloadTooLarge,
            Refusal::UnbalancedTransaction(AssetTypeId(Uuid::nil())),
            Refusal::InsufficientAvailable(account),
            Refusal::InvalidAmount("entries[0].amount".into()),
            Refusal::InvalidAmountScale { field: "entries[0].amount".into(), scale: 2 },
            Refusal::InvalidFloor(""),
            Refusal::InvalidExpiresAt(""),
            Refusal::InvalidState,
            Refusal::InvalidAsOf(""),
            Refusal::InvalidEffectiveAt(""),
            Refusal::IdempotencyKeyMismatch,
            Refusal::EntryCountOutOfRange(1),
            Refusal::ReferenceNotFound { field: "entries[0].account_id".into(), account_id: account },
            Refusal::ConstraintViolation(""),
            Refusal::InvalidInput,
            Refusal::InvalidAccountId("account_id".into()),
            Refusal::InvalidMetadata(""),
            Refusal::InvalidAccount(""),
            Refusal::InvalidDescription,
            Refusal::InvalidExternalId,
            Refusal::InvalidJsonDepth,
            Refusal::field("name", "is required"),
            Refusal::InvalidTenant(""),
            Refusal::InvalidKey(""),
            Refusal::InvalidAssetType(""),
            Refusal::RateLimited(3),
            Refusal::QuotaExceeded(60),
            Refusal::InternalError,
            Refusal::RevocationFailed,
            Refusal::AuthzUnavailable,
            Refusal::AuthzCredentialRejected,
            Refusal::StatementTimeout,
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
        assert_eq!((item.verdict(), item.is_final()), (inner.verdict(), true));
        assert_eq!(item.details().unwrap()["index"], 3);
        assert_eq!(item.details().unwrap()["account_id"], inner.details().unwrap()["account_id"]);
        let mismatch = Refusal::InBulk { index: 0, refusal: Box::new(Refusal::IdempotencyKeyMismatch) };
        assert_eq!((mismatch.is_final(), mismatch.details()), (false, Some(json!({"index": 0}))));
    }

    #[test]
    fn failures_of_the_store_have_codes() {
        let code = |failure| Refusal::of_failure(&failure).verdict().code;
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
        let id = "00000000-0000-0000-0000-000000000000";
        let insufficient = Refusal::InsufficientAvailable(AccountId(Uuid::nil()));
        assert_eq!(insufficient.details(), Some(json!({"account_id": id})));
        let duplicate = Refusal::DuplicateTransaction(TransactionId(Uuid::nil()));
        assert_eq!(duplicate.details(), Some(json!({"transaction_id": id})));
        let fields = json!({"fields": [{"field": "name", "problem": "is required"}]});
        assert_eq!(Refusal::field("name", "is required").details(), Some(fields));
        assert_eq!(Refusal::InternalError.details(), None);
    }
}
