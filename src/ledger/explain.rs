//! What each error code means, for people and agents: its cause and its cure. `/openapi.json`, `/llms.txt` and
//! `quintet ledger explain` are made from this table; a test holds it against the refusals.

use quintet_platform::service::Code;

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
    /// The sentence that an answer carries.
    pub message: &'static str,
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
    message: &'static str,
    cause: &'static str,
    cure: &'static str,
) -> Explanation {
    Explanation { status, code, is_transient, arises, message, cause, cure }
}

/// What a code means; `None` if there is no such code. Upper and lower case are one. Of a code with two statuses it is what
/// the last one means, the usual one.
#[must_use]
pub fn explain(code: &str) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().rev().find(|known| known.code.eq_ignore_ascii_case(code))
}

/// Every code, by status.
#[rustfmt::skip]
pub const EXPLANATIONS: &[Explanation] = &[
    explanation(400, "MISSING_IDEMPOTENCY_KEY", false, true, "A mutating request needs the header Idempotency-Key.", "The request changes something and has no Idempotency-Key header.", "Send Idempotency-Key with 1 to 255 characters of your choice, a new one for each thing you want done, the same one when you repeat a request."),
    explanation(400, "INVALID_REQUEST", false, true, "The request is not valid; details name the fields.", "HTTP/1.1 without exactly one Host header that names a host; a body that breaks off, or whose chunks are malformed.", "Send Host with the ledger's name or address and the body whole, as every HTTP client does."),
    explanation(401, "UNAUTHENTICATED", false, true, "A valid API key is required.", "There is no Authorization header, or its key is malformed, unknown or revoked.", "Send `Authorization: Bearer rak_...`; the operator issues keys with `quintet key issue`."),
    explanation(401, "CREDENTIAL_EXPIRED", false, true, "The API key has expired.", "The key was issued for a number of days, and they are over.", "Have a new key issued."),
    explanation(403, "FORBIDDEN", false, true, "The API key lacks the permission this route needs.", "The key is valid but lacks the permission the route asks for.", "Use a key with that permission: ledger_admin, ledger_poster, ledger_reader or ledger_partner."),
    explanation(403, "TENANT_SUSPENDED", false, true, "The tenant is suspended.", "The key's tenant, or the tenant it is a client of, is suspended.", "The operator activates tenants with `quintet tenant activate`; a partner activates its clients with PATCH /v1/sub-tenants/{id}."),
    explanation(403, "TENANT_NOT_PROVISIONED", false, true, "The tenant is not provisioned for the ledger.", "The key's tenant may not use the ledger.", "The operator creates tenants with the ledger among their services."),
    explanation(403, "TENANT_CONTEXT_MISMATCH", false, false, "The request's tenant is not the credential's.", "The tenant always comes from the key and from nowhere else, so nothing can differ from it.", "None is needed."),
    explanation(404, "ACCOUNT_NOT_FOUND", false, true, "There is no such account.", "The tenant has no account with this id. Accounts of other tenants look the same.", "Look the id up with GET /v1/accounts."),
    explanation(404, "TRANSACTION_NOT_FOUND", false, true, "There is no such transaction.", "The tenant has no transaction with this id, or it is no id at all.", "Keep the transaction_id that posting answered; transactions cannot be listed."),
    explanation(404, "ASSET_TYPE_NOT_FOUND", false, true, "There is no such asset type.", "The tenant has no asset type with this id.", "Look it up with GET /v1/asset-types."),
    explanation(404, "SUB_TENANT_NOT_FOUND", false, true, "There is no such sub-tenant.", "The tenant has no client with this id, or it is no id at all.", "Look it up with GET /v1/sub-tenants."),
    explanation(404, "KEY_NOT_FOUND", false, true, "There is no such key.", "The sub-tenant has no key with this id.", "Look it up with GET /v1/sub-tenants/{id}/keys."),
    explanation(404, "NOT_FOUND", false, true, "There is no such path.", "There is no such path.", "/openapi.json and /llms.txt list the paths."),
    explanation(405, "METHOD_NOT_ALLOWED", false, true, "The path does not take this method.", "The path exists, but does not take this method.", "The header Allow names those it takes."),
    explanation(409, "ACCOUNT_NOT_ACTIVE", true, true, "The account is frozen or closed.", "A posting or a commit touches an account that is frozen or closed; details name it.", "Activate it with PATCH /v1/accounts/{id} and repeat the request with the same key. A closed account stays closed."),
    explanation(409, "INVALID_TRANSACTION_STATE", false, true, "The transaction is final.", "A commit or void of a transaction that is no longer pending; details name its state.", "Read the transaction; a final state never changes."),
    explanation(409, "DUPLICATE_TRANSACTION", false, true, "A transaction with this external_id exists.", "Another transaction of the tenant has this external_id; details name it.", "Read that transaction: what you want was most likely done already."),
    explanation(409, "LOCK_TIMEOUT", true, true, "The ledger is busy; nothing was changed.", "The ledger was too busy to take the request in time; nothing was done.", "Repeat it with the same Idempotency-Key after the seconds in Retry-After."),
    explanation(409, "CONFLICT_RETRY", true, false, "The request met another one; nothing was changed.", "Transactions run one after another here, so none ever meets another.", "Repeat the request with the same Idempotency-Key."),
    explanation(409, "POSTING_FROZEN", true, true, "The ledger takes no changes for want of disk space.", "The disk is down to its reserve; nothing was done, reading goes on.", "The operator frees space; posting resumes by itself. Repeat with the same Idempotency-Key."),
    explanation(409, "IDEMPOTENCY_IN_FLIGHT", true, false, "A request with this key is being worked on.", "A repeat waits for the first request here and then gets its answer.", "Repeat the request with the same Idempotency-Key."),
    explanation(409, "CLOSE_REQUIRES_ZERO_BALANCE", false, true, "Only an account without balance and pending amounts can be closed.", "An account with a balance or with pending amounts would be closed.", "Move the balance elsewhere, settle its holds, then close it."),
    explanation(409, "APPEND_ONLY_VIOLATION", false, false, "The journal only grows.", "No route changes or deletes a journal entry, so none can be refused for it.", "Correct a posting with another one in the opposite direction."),
    explanation(409, "IMMUTABLE_VIOLATION", false, true, "The field cannot be changed.", "A PATCH names a member that never changes, or would reopen a closed account; details name it.", "Leave the member out; open another account if it must differ."),
    explanation(409, "TENANT_CONTEXT_REQUIRED", false, false, "The request needs a tenant.", "Every key has a tenant, so none can be missing.", "None is needed."),
    explanation(410, "HOLD_EXPIRED", false, true, "The hold expired before it was settled.", "The hold's expires_at had passed before it was committed; what it held is available again.", "Post the transaction anew, or place a new hold."),
    explanation(413, "PAYLOAD_TOO_LARGE", false, true, "The body is too large.", "The body is over 64 KiB, or over 1 MiB in a bulk call.", "Send less at once."),
    explanation(422, "UNBALANCED_TRANSACTION", false, true, "Debits must equal credits for each asset type.", "Of one asset type the debits differ from the credits; details name it.", "Make the sums equal for each asset type."),
    explanation(422, "INSUFFICIENT_AVAILABLE", false, true, "The account's floor does not allow this.", "The movement would take an account below its floor; details name it.", "Move less, bring funds in first, or lower the account's balance_floor."),
    explanation(422, "INVALID_AMOUNT", false, true, "An amount is a decimal string above zero, without sign or exponent, of at most 28 digits.", "An amount is no string of digits above zero: a JSON number, a sign, an exponent, blanks, more than 28 digits.", "Send a decimal string such as \"12.50\"."),
    explanation(422, "INVALID_AMOUNT_SCALE", false, true, "The amount has more fraction digits than the asset's scale.", "An amount has more fraction digits than its asset type's scale, be they zeros.", "Send at most that many digits behind the point."),
    explanation(422, "INVALID_FLOOR", false, true, "The balance floor cannot be set to this.", "A floor is malformed, above what is available, or on an account with async tracking.", "Send a decimal string, an integer of minor units, or null for none."),
    explanation(422, "INVALID_EXPIRES_AT", false, true, "expires_at does not fit.", "expires_at is missing on a hold, given without one, without an explicit UTC offset, or not in the future.", "Send it exactly with pending: true, such as \"2030-01-01T00:00:00Z\"."),
    explanation(422, "INVALID_STATE", false, true, "state is one of pending, committed, voided, expired.", "The state filter names no state.", "Use pending, committed, voided or expired."),
    explanation(422, "INVALID_AS_OF", false, true, "at does not fit.", "at is missing, malformed, without an explicit UTC offset, or in the future.", "Send a past instant; write a plus sign as %2B, or use Z."),
    explanation(422, "INVALID_EFFECTIVE_AT", false, true, "effective_at does not fit.", "effective_at is malformed, without an explicit UTC offset, or in the future.", "Send a past instant, or leave it out."),
    explanation(422, "IDEMPOTENCY_KEY_MISMATCH", false, true, "The Idempotency-Key was used for another request.", "The Idempotency-Key was used for another request of this route within the last 30 days.", "Take a new key for a new request; repeat a request byte for byte."),
    explanation(422, "ENTRY_COUNT_OUT_OF_RANGE", false, true, "A transaction has 2 to 100 entries.", "A transaction has fewer than 2 or more than 100 entries.", "Split it, or combine entries."),
    explanation(422, "REFERENCE_NOT_FOUND", false, true, "The request refers to something that does not exist.", "An entry names an account the tenant does not have; details name the entry.", "Look the account up with GET /v1/accounts."),
    explanation(422, "CONSTRAINT_VIOLATION", false, true, "The request breaks a rule of the ledger.", "A rule over several records: a code used twice, or sums that leave the range of the counters; details say which.", "Follow the reason in details."),
    explanation(422, "INVALID_INPUT", false, false, "The input is not valid.", "More exact codes are used for everything that could be wrong.", "Read details."),
    explanation(422, "INVALID_ACCOUNT_ID", false, true, "The account id is malformed.", "An account id is no UUID; details name the place.", "Send the id as the ledger gave it."),
    explanation(422, "INVALID_METADATA", false, true, "metadata is an object of at most 16 KiB.", "metadata is no object, or over 16 KiB as canonical JSON.", "Send a smaller object."),
    explanation(422, "INVALID_ACCOUNT", false, true, "The account's fields do not fit.", "An account's name is empty or over 255 characters.", "Send another name."),
    explanation(422, "INVALID_DESCRIPTION", false, true, "description has at most 1024 characters.", "A description is over 1024 characters.", "Shorten it."),
    explanation(422, "INVALID_EXTERNAL_ID", false, true, "external_id has 1 to 255 characters.", "An external_id is empty or over 255 characters.", "Send another one, or none."),
    explanation(422, "INVALID_JSON_DEPTH", false, true, "The body nests deeper than 64 levels.", "The body nests deeper than 64 levels.", "Send flatter JSON."),
    explanation(422, "INVALID_REQUEST", false, true, "The request is not valid; details name the fields.", "Malformed JSON; unknown, duplicate, missing or ill-typed members or parameters; details.fields names each.", "Correct the fields that details name."),
    explanation(422, "INVALID_TENANT", false, true, "The sub-tenant's fields do not fit.", "A sub-tenant's name, kind or contact_email does not fit, or the tenant is a sub-tenant itself.", "Follow the reason in details."),
    explanation(422, "INVALID_KEY", false, true, "The key does not fit.", "The Idempotency-Key is given twice, no text or over 255 characters; or a key's label, role or ttl_days does not fit.", "Follow the reason in details."),
    explanation(422, "INVALID_ASSET_TYPE", false, true, "The asset type's fields do not fit.", "A code, kind or scale does not fit: 1 to 255 characters; fiat, credit or inventory; 0 to 12.", "Follow the reason in details."),
    explanation(429, "RATE_LIMITED", true, true, "Too many requests from this address.", "Too many requests a second from this source address.", "Wait for the seconds in Retry-After; bulk calls carry up to 1000 transactions."),
    explanation(429, "QUOTA_EXCEEDED", true, true, "The tenant's allowance is used up.", "The tenant's calls of this month, or of this second, are used up; sub-tenants count against their parent.", "Wait for the seconds in Retry-After; the operator sets allowances with `quintet tenant quota`."),
    explanation(500, "INTERNAL_ERROR", false, true, "Something went wrong inside the ledger.", "A defect or damaged data. The operator's log says more; the answer never does.", "Tell the operator the x-request-id of the answer."),
    explanation(502, "REVOCATION_FAILED", false, true, "The key was not revoked; nothing was changed.", "The authorization system refused to revoke the key; nothing was changed.", "Revoke it there, or try again later."),
    explanation(503, "AUTHZ_UNAVAILABLE", true, true, "Authorization cannot be checked at present.", "The authorization system cannot be asked, so the key's worth is unknown.", "Repeat the request with the same Idempotency-Key after the seconds in Retry-After."),
    explanation(503, "AUTHZ_CREDENTIAL_REJECTED", true, true, "Authorization cannot be checked at present.", "The authorization system refuses the ledger's own credential.", "The operator mends authorization.api_key; then repeat with the same Idempotency-Key."),
    explanation(503, "STATEMENT_TIMEOUT", true, true, "The request was not completed, or its outcome is not known; repeat it with the same Idempotency-Key.", "The request was not completed, or nobody knows whether it was: its body did not arrive in time, or storage stopped.", "Repeat it with the same Idempotency-Key: it is done once in any case."),
];

const fn count_arising() -> usize {
    let (mut count, mut place) = (0, 0);
    while place < EXPLANATIONS.len() {
        #[expect(clippy::indexing_slicing, reason = "counted when it is compiled")]
        if EXPLANATIONS[place].arises {
            count += 1;
        }
        place += 1;
    }
    count
}

const fn arising() -> [Code; count_arising()] {
    let mut codes = [Code { status: 0, code: "", title: "" }; count_arising()];
    let (mut count, mut place) = (0, 0);
    while place < EXPLANATIONS.len() {
        #[expect(clippy::indexing_slicing, reason = "counted when it is compiled")]
        let known = &EXPLANATIONS[place];
        if known.arises {
            #[expect(clippy::indexing_slicing, reason = "counted when it is compiled")]
            let code = &mut codes[count];
            *code = Code { status: known.status, code: known.code, title: known.cause };
            count += 1;
        }
        place += 1;
    }
    codes
}

/// The codes that this engine answers with.
pub const CODES: &[Code] = &arising();
