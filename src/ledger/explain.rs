//! What each error code means, for people and agents: its cause and its cure. `/openapi.json`, `/llms.txt` and
//! `quintet ledger explain` are made from this table; a test holds it against the refusals.

/// What an error code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// Whether a repeat with the same Idempotency-Key may fare better; the answer carries `Retry-After` then.
    pub is_transient: bool,
    /// Whether this engine ever answers it. The others are the contract's, kept so that their meaning stays fixed.
    pub arises: bool,
    /// When it is answered; if it never is, why.
    pub cause: &'static str,
    /// What to do.
    pub cure: &'static str,
}

const fn explanation(
    status: u16,
    code: &'static str,
    is_transient: bool,
    arises: bool,
    cause: &'static str,
    cure: &'static str,
) -> Explanation {
    Explanation { status, code, is_transient, arises, cause, cure }
}

/// What a code means; `None` if there is no such code. Upper and lower case are one.
#[must_use]
pub fn explain(code: &str) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().find(|known| known.code.eq_ignore_ascii_case(code))
}

/// Every code, by status.
#[rustfmt::skip]
pub const EXPLANATIONS: &[Explanation] = &[
    explanation(400, "MISSING_IDEMPOTENCY_KEY", false, true, "The request changes something and has no Idempotency-Key header.", "Send Idempotency-Key with 1 to 255 characters of your choice, a new one for each thing you want done, the same one when you repeat a request."),
    explanation(401, "UNAUTHENTICATED", false, true, "There is no Authorization header, or its key is malformed, unknown or revoked.", "Send `Authorization: Bearer rak_...`; the operator issues keys with `quintet key issue`."),
    explanation(401, "CREDENTIAL_EXPIRED", false, true, "The key was issued for a number of days, and they are over.", "Have a new key issued."),
    explanation(403, "FORBIDDEN", false, true, "The key is valid but lacks the permission the route asks for.", "Use a key with that permission: ledger_admin, ledger_poster, ledger_reader or ledger_partner."),
    explanation(403, "TENANT_SUSPENDED", false, true, "The key's tenant, or the tenant it is a client of, is suspended.", "The operator activates tenants with `quintet tenant activate`; a partner activates its clients with PATCH /v1/sub-tenants/{id}."),
    explanation(403, "TENANT_NOT_PROVISIONED", false, true, "The key's tenant may not use the ledger.", "The operator creates tenants with the ledger among their services."),
    explanation(403, "TENANT_CONTEXT_MISMATCH", false, false, "The tenant always comes from the key and from nowhere else, so nothing can differ from it.", "None is needed."),
    explanation(404, "ACCOUNT_NOT_FOUND", false, true, "The tenant has no account with this id. Accounts of other tenants look the same.", "Look the id up with GET /v1/accounts."),
    explanation(404, "TRANSACTION_NOT_FOUND", false, true, "The tenant has no transaction with this id, or it is no id at all.", "Keep the transaction_id that posting answered; transactions cannot be listed."),
    explanation(404, "ASSET_TYPE_NOT_FOUND", false, true, "The tenant has no asset type with this id.", "Look it up with GET /v1/asset-types."),
    explanation(404, "SUB_TENANT_NOT_FOUND", false, true, "The tenant has no client with this id, or it is no id at all.", "Look it up with GET /v1/sub-tenants."),
    explanation(404, "KEY_NOT_FOUND", false, true, "The sub-tenant has no key with this id.", "Look it up with GET /v1/sub-tenants/{id}/keys."),
    explanation(404, "NOT_FOUND", false, true, "There is no such path.", "/openapi.json and /llms.txt list the paths."),
    explanation(405, "METHOD_NOT_ALLOWED", false, true, "The path exists, but does not take this method.", "The header Allow names those it takes."),
    explanation(409, "ACCOUNT_NOT_ACTIVE", true, true, "A posting or a commit touches an account that is frozen or closed; details name it.", "Activate it with PATCH /v1/accounts/{id} and repeat the request with the same key. A closed account stays closed."),
    explanation(409, "INVALID_TRANSACTION_STATE", false, true, "A commit or void of a transaction that is no longer pending; details name its state.", "Read the transaction; a final state never changes."),
    explanation(409, "DUPLICATE_TRANSACTION", false, true, "Another transaction of the tenant has this external_id; details name it.", "Read that transaction: what you want was most likely done already."),
    explanation(409, "LOCK_TIMEOUT", true, true, "The ledger was too busy to take the request in time; nothing was done.", "Repeat it with the same Idempotency-Key after the seconds in Retry-After."),
    explanation(409, "CONFLICT_RETRY", true, false, "Transactions run one after another here, so none ever meets another.", "Repeat the request with the same Idempotency-Key."),
    explanation(409, "POSTING_FROZEN", true, true, "The disk is down to its reserve; nothing was done, reading goes on.", "The operator frees space; posting resumes by itself. Repeat with the same Idempotency-Key."),
    explanation(409, "IDEMPOTENCY_IN_FLIGHT", true, false, "A repeat waits for the first request here and then gets its answer.", "Repeat the request with the same Idempotency-Key."),
    explanation(409, "CLOSE_REQUIRES_ZERO_BALANCE", false, true, "An account with a balance or with pending amounts would be closed.", "Move the balance elsewhere, settle its holds, then close it."),
    explanation(409, "APPEND_ONLY_VIOLATION", false, false, "No route changes or deletes a journal entry, so none can be refused for it.", "Correct a posting with another one in the opposite direction."),
    explanation(409, "IMMUTABLE_VIOLATION", false, true, "A PATCH names a member that never changes, or would reopen a closed account; details name it.", "Leave the member out; open another account if it must differ."),
    explanation(409, "TENANT_CONTEXT_REQUIRED", false, false, "Every key has a tenant, so none can be missing.", "None is needed."),
    explanation(410, "HOLD_EXPIRED", false, true, "The hold's expires_at had passed before it was committed; what it held is available again.", "Post the transaction anew, or place a new hold."),
    explanation(413, "PAYLOAD_TOO_LARGE", false, true, "The body is over 64 KiB, or over 1 MiB in a bulk call.", "Send less at once."),
    explanation(422, "UNBALANCED_TRANSACTION", false, true, "Of one asset type the debits differ from the credits; details name it.", "Make the sums equal for each asset type."),
    explanation(422, "INSUFFICIENT_AVAILABLE", false, true, "The movement would take an account below its floor; details name it.", "Move less, bring funds in first, or lower the account's balance_floor."),
    explanation(422, "INVALID_AMOUNT", false, true, "An amount is no string of digits above zero: a JSON number, a sign, an exponent, blanks, more than 28 digits.", "Send a decimal string such as \"12.50\"."),
    explanation(422, "INVALID_AMOUNT_SCALE", false, true, "An amount has more fraction digits than its asset type's scale, be they zeros.", "Send at most that many digits behind the point."),
    explanation(422, "INVALID_FLOOR", false, true, "A floor is malformed, above what is available, or on an account with async tracking.", "Send a decimal string, an integer of minor units, or null for none."),
    explanation(422, "INVALID_EXPIRES_AT", false, true, "expires_at is missing on a hold, given without one, without an explicit UTC offset, or not in the future.", "Send it exactly with pending: true, such as \"2030-01-01T00:00:00Z\"."),
    explanation(422, "INVALID_STATE", false, true, "The state filter names no state.", "Use pending, committed, voided or expired."),
    explanation(422, "INVALID_AS_OF", false, true, "at is missing, malformed, without an explicit UTC offset, or in the future.", "Send a past instant; write a plus sign as %2B, or use Z."),
    explanation(422, "INVALID_EFFECTIVE_AT", false, true, "effective_at is malformed, without an explicit UTC offset, or in the future.", "Send a past instant, or leave it out."),
    explanation(422, "IDEMPOTENCY_KEY_MISMATCH", false, true, "The Idempotency-Key was used for another request of this route within the last 30 days.", "Take a new key for a new request; repeat a request byte for byte."),
    explanation(422, "ENTRY_COUNT_OUT_OF_RANGE", false, true, "A transaction has fewer than 2 or more than 100 entries.", "Split it, or combine entries."),
    explanation(422, "REFERENCE_NOT_FOUND", false, true, "An entry names an account the tenant does not have; details name the entry.", "Look the account up with GET /v1/accounts."),
    explanation(422, "CONSTRAINT_VIOLATION", false, true, "A rule over several records: a code used twice, or sums that leave the range of the counters; details say which.", "Follow the reason in details."),
    explanation(422, "INVALID_INPUT", false, false, "More exact codes are used for everything that could be wrong.", "Read details."),
    explanation(422, "INVALID_ACCOUNT_ID", false, true, "An account id is no UUID; details name the place.", "Send the id as the ledger gave it."),
    explanation(422, "INVALID_METADATA", false, true, "metadata is no object, or over 16 KiB as canonical JSON.", "Send a smaller object."),
    explanation(422, "INVALID_ACCOUNT", false, true, "An account's name is empty or over 255 characters.", "Send another name."),
    explanation(422, "INVALID_DESCRIPTION", false, true, "A description is over 1024 characters.", "Shorten it."),
    explanation(422, "INVALID_EXTERNAL_ID", false, true, "An external_id is empty or over 255 characters.", "Send another one, or none."),
    explanation(422, "INVALID_JSON_DEPTH", false, true, "The body nests deeper than 64 levels.", "Send flatter JSON."),
    explanation(422, "INVALID_REQUEST", false, true, "Malformed JSON; unknown, duplicate, missing or ill-typed members or parameters; details.fields names each.", "Correct the fields that details name."),
    explanation(422, "INVALID_TENANT", false, true, "A sub-tenant's name, kind or contact_email does not fit, or the tenant is a sub-tenant itself.", "Follow the reason in details."),
    explanation(422, "INVALID_KEY", false, true, "The Idempotency-Key is given twice, no text or over 255 characters; or a key's label, role or ttl_days does not fit.", "Follow the reason in details."),
    explanation(422, "INVALID_ASSET_TYPE", false, true, "A code, kind or scale does not fit: 1 to 255 characters; fiat, credit or inventory; 0 to 12.", "Follow the reason in details."),
    explanation(429, "RATE_LIMITED", true, true, "Too many requests a second from this source address.", "Wait for the seconds in Retry-After; bulk calls carry up to 1000 transactions."),
    explanation(429, "QUOTA_EXCEEDED", true, true, "The tenant's calls of this month, or of this second, are used up; sub-tenants count against their parent.", "Wait for the seconds in Retry-After; the operator sets allowances with `quintet tenant quota`."),
    explanation(500, "INTERNAL_ERROR", false, true, "A defect or damaged data. The operator's log says more; the answer never does.", "Tell the operator the x-request-id of the answer."),
    explanation(502, "REVOCATION_FAILED", false, true, "The authorization system refused to revoke the key; nothing was changed.", "Revoke it there, or try again later."),
    explanation(503, "AUTHZ_UNAVAILABLE", true, true, "The authorization system cannot be asked, so the key's worth is unknown.", "Repeat the request with the same Idempotency-Key after the seconds in Retry-After."),
    explanation(503, "AUTHZ_CREDENTIAL_REJECTED", true, true, "The authorization system refuses the ledger's own credential.", "The operator mends authorization.api_key; then repeat with the same Idempotency-Key."),
    explanation(503, "STATEMENT_TIMEOUT", true, true, "The request was not completed, or nobody knows whether it was: its body was cut short, or storage stopped.", "Repeat it with the same Idempotency-Key: it is done once in any case."),
];
