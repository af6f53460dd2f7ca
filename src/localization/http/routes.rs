//! The route table: what is served, who may call it, and what it is described with. Everything that tells of routes
//! (the router, `/openapi.json`, `/llms.txt`, the manual) is made from it or held against it.

use quintet_platform::http::describe::Parameter;

use crate::refusal::TAG_CODES;

/// A served route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its method; a GET serves HEAD as well.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// Method and path in one: the scope of Idempotency-Keys.
    pub template: &'static str,
    /// What a caller must be allowed: a permission, `authenticated`, or empty for everybody.
    pub permission: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The status of success.
    pub status: u16,
    /// The schema of the request's body; empty: none.
    pub request: &'static str,
    /// The schema of the answer; empty: no JSON.
    pub answer: &'static str,
    /// Whether it takes an Idempotency-Key.
    pub key: KeyRule,
    /// Whether it needs the language core.
    pub is_core: bool,
    /// Whether it is given a tag, which may be no locale.
    pub takes_tag: bool,
    /// What its answers' entity tag begins with in front of their `version`; empty: it has none, or another.
    pub etag_letter: &'static str,
    /// What its query may say.
    pub parameters: &'static [Parameter],
    /// Its own error codes, besides those that go with its kind.
    pub own_codes: &'static [&'static str],
}

/// Whether a route takes an Idempotency-Key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// It changes nothing.
    Ignored,
    /// It may.
    Optional,
    /// It must.
    Required,
}

/// Codes of every route that asks for a credential.
const KEYED_CODES: &[&str] = &[
    "unauthenticated",
    "forbidden",
    "invalid_parameter",
    "unknown_parameter",
    "quota_exceeded",
    "authorization_unavailable",
];
/// Codes of every route that writes.
const WRITING_CODES: &[&str] = &["storage_full", "busy", "writing_stopped", "outcome_unknown"];
/// Codes of every route that takes an Idempotency-Key.
const KEY_CODES: &[&str] = &["idempotency_in_progress", "idempotency_key_reused"];
/// Codes of every route with a JSON body.
const BODY_CODES: &[&str] = &[
    "malformed_json",
    "invalid_body",
    "unknown_field",
    "invalid_field",
    "payload_too_large",
    "request_timeout",
    "unsupported_media_type",
];

/// Codes of a route that takes a file.
const FILE_CODES: &[&str] = &[
    "upload_too_large",
    "request_timeout",
    "unsupported_media_type",
    "format_not_offered",
    "format_mismatch",
    "conflict",
];

impl Route {
    /// Every error code it can answer with.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes = self.own_codes.to_vec();
        codes.push("internal_error");
        if !self.permission.is_empty() {
            codes.extend(KEYED_CODES);
        }
        if self.key != KeyRule::Ignored {
            codes.extend(WRITING_CODES);
            codes.extend(KEY_CODES);
        }
        match self.request {
            "" => {}
            "File" => codes.extend(FILE_CODES),
            _ => codes.extend(BODY_CODES),
        }
        if self.takes_tag {
            codes.extend(TAG_CODES);
        }
        if self.is_core {
            codes.push("language_core_unavailable");
        }
        if self.path.contains('{') {
            codes.push("not_found");
        }
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

macro_rules! route {
    ($method:literal $path:literal $permission:literal, $summary:literal, $request:literal => $status:literal $answer:literal $(, $name:ident: $value:expr)*) => {
        Route {
            $($name: $value,)*
            ..Route {
                method: $method,
                path: $path,
                template: concat!($method, " ", $path),
                permission: $permission,
                summary: $summary,
                status: $status,
                request: $request,
                answer: $answer,
                key: KeyRule::Ignored,
                is_core: false,
                takes_tag: false,
                etag_letter: "",
                parameters: &[],
                own_codes: &[],
            }
        }
    };
}

const LIMIT: Parameter = Parameter {
    name: "limit",
    is_required: false,
    schema: r#"{"type":"integer","minimum":1,"maximum":500,"default":50}"#,
    about: "The most items of a page.",
};
const CURSOR: Parameter = Parameter {
    name: "cursor",
    is_required: false,
    schema: r#"{"type":"string"}"#,
    about: "The next_cursor of the page before.",
};
const PAGE: &[Parameter] = &[CURSOR, LIMIT];

use KeyRule::{Optional, Required};

pub(super) const HEALTHZ: Route = route!("GET" "/healthz" "", "whether the process lives", "" => 200 "Alive");
pub(super) const READYZ: Route =
    route!("GET" "/readyz" "", "whether it can work, and how the core's ten checks went", "" => 200 "Ready");
pub(super) const OPENAPI: Route = route!("GET" "/openapi.json" "", "the interface in OpenAPI 3.1", "" => 200 "");
pub(super) const LLMS: Route = route!("GET" "/llms.txt" "", "all that an agent needs to use it", "" => 200 "");
pub(super) const ME: Route =
    route!("GET" "/v1/me" "authenticated", "who the caller is, and what it may", "" => 200 "Me");
pub(super) const WORKSPACE_LIST: Route = route!("GET" "/v1/workspaces" "authenticated", "list the workspaces",
    "" => 200 "WorkspacePage", parameters: PAGE);
pub(super) const WORKSPACE_CREATE: Route = route!("POST" "/v1/workspaces" "org_members-manage", "create a workspace",
    "WorkspaceCreate" => 201 "Workspace", key: Optional, own_codes: &["conflict"]);
pub(super) const WORKSPACE_GET: Route =
    route!("GET" "/v1/workspaces/{workspace_id}" "authenticated", "one workspace", "" => 200 "Workspace");
pub(super) const PROJECT_LIST: Route = route!("GET" "/v1/projects" "authenticated",
    "list the projects that the caller may read", "" => 200 "ProjectPage", parameters: PAGE);
pub(super) const PROJECT_CREATE: Route = route!("POST" "/v1/projects" "ws_<w>_admin", "create a project",
    "ProjectCreate" => 201 "Project", key: Optional, takes_tag: true,
    own_codes: &["conflict", "not_found"]);
pub(super) const PROJECT_GET: Route =
    route!("GET" "/v1/projects/{project_id}" "p_<p>_read", "one project", "" => 200 "Project");
pub(super) const PROJECT_PATCH: Route = route!("PATCH" "/v1/projects/{project_id}" "p_<p>_manage",
    "rename it, set its legal prefixes", "ProjectPatch" => 200 "Project", key: Optional);
pub(super) const LOCALES_GET: Route = route!("GET" "/v1/projects/{project_id}/locales" "p_<p>_read",
    "its target locales; the entity tag is \"v<version>\"", "" => 200 "ProjectLocales", etag_letter: "v");
pub(super) const LOCALES_PUT: Route = route!("PUT" "/v1/projects/{project_id}/locales" "p_<p>_manage",
"replace its target locales; needs If-Match", "ProjectLocalesPut" => 200 "ProjectLocales",
key: Optional, is_core: true, takes_tag: true, etag_letter: "v",
own_codes: &["precondition_required", "precondition_failed", "locale_duplicate",
]);
pub(super) const SOURCE_LOCALE_GET: Route = route!("GET" "/v1/projects/{project_id}/source-locale" "p_<p>_read",
    "its source locale; the entity tag is \"s<version>\"", "" => 200 "SourceLocale", etag_letter: "s");
pub(super) const SOURCE_LOCALE_PUT: Route = route!("PUT" "/v1/projects/{project_id}/source-locale" "p_<p>_manage",
"replace its source locale, as long as it has no file; needs If-Match", "SourceLocalePut" => 200 "SourceLocale",
key: Optional, is_core: true, takes_tag: true, etag_letter: "s",
own_codes: &["precondition_required", "precondition_failed", "conflict",
]);
pub(super) const LOCALE_LIST: Route = route!("GET" "/v1/locales" "authenticated",
    "every locale of CLDR, with direction and plural categories", "" => 200 "LocaleList", is_core: true);
pub(super) const LOCALE_VALIDATE: Route = route!("POST" "/v1/locales/validate" "authenticated",
    "whether a tag is a locale, and its forms", "LocaleValidate" => 200 "LocaleValidation", is_core: true);

const fn parameter(name: &'static str, schema: &'static str, about: &'static str) -> Parameter {
    Parameter { name, is_required: false, schema, about }
}
const UPLOAD_PARAMETERS: &[Parameter] = &[
    Parameter {
        is_required: true,
        ..parameter(
            "kind",
            r#"{"enum":["json","yaml","properties","android","ios-strings","ios-stringsdict"]}"#,
            "What kind of file it is; the last three are not offered.",
        )
    },
    parameter("profile", r#"{"enum":["rails","flat"]}"#, "Required for yaml, refused for others."),
    parameter(
        "locale",
        r#"{"type":"string","minLength":1,"maxLength":255}"#,
        "The root key of a rails file; by default the project's source locale, as it was given, canonical or in content form.",
    ),
    Parameter {
        is_required: true,
        ..parameter("path", r#"{"type":"string","minLength":1,"maxLength":512}"#, "A relative path in the project.")
    },
];
const EXPORT_PARAMETERS: &[Parameter] = &[
    parameter("locale", r#"{"type":"string","minLength":1,"maxLength":255}"#, "The target locale; absent: the source."),
    parameter(
        "fallback",
        r#"{"enum":["source","omit"],"default":"source"}"#,
        "What becomes of untranslated keys; omit is for JSON.",
    ),
    parameter("state", r#"{"enum":["approved"]}"#, "Use approved translations only."),
    parameter(
        "metadata",
        r#"{"enum":["true","false"],"default":"false"}"#,
        "Tell of each key (ExportMetadata) instead of giving the file.",
    ),
    parameter("revision", r#"{"type":"integer","minimum":1}"#, "Serve this revision or refuse."),
];
/// What a file can be refused with.
const READER_CODES: &[&str] = crate::refusal::READER_CODES;

pub(super) const FILE_UPLOAD: Route = route!("POST" "/v1/projects/{project_id}/files" "p_<p>_files-write",
    "upload a file, as a new version if its path is known", "File" => 201 "FileImported",
    key: Required, parameters: UPLOAD_PARAMETERS, own_codes: READER_CODES);
pub(super) const FILE_LIST: Route = route!("GET" "/v1/projects/{project_id}/files" "p_<p>_read", "list its files",
    "" => 200 "FilePage", parameters: PAGE);
pub(super) const EXPORT: Route = route!("GET" "/v1/projects/{project_id}/files/{file_id}/export" "p_<p>_export",
    "the latest version, in a locale; the entity tag is \"r<revision>\"", "" => 200 "Exported",
    is_core: true, takes_tag: true, parameters: EXPORT_PARAMETERS,
    own_codes: &["revision_superseded", "revision_not_found", "value_too_long", "value_unrepresentable", "storage_full", "busy",
        "writing_stopped", "outcome_unknown"]);
pub(super) const MANIFEST: Route = route!("GET" "/v1/projects/{project_id}/files/{file_id}/imports/{seq}/manifest" "p_<p>_read",
    "what an upload changed: key id, change, source hash before and after", "" => 200 "Manifest",
    own_codes: &["busy"]);
pub(super) const CONTEXT_GET: Route = route!("GET" "/v1/projects/{project_id}/files/{file_id}/context" "p_<p>_read",
    "what translators are told of its keys", "" => 200 "KeyContexts");
pub(super) const CONTEXT_PUT: Route = route!("PUT" "/v1/projects/{project_id}/files/{file_id}/context" "p_<p>_files-write",
    "tell translators of some of its keys", "KeyContextsPut" => 200 "KeyContextsSet",
    key: Required, own_codes: &["key_unknown", "length_range", "context_invalid", "conflict"]);
pub(super) const KEY_LIST: Route = route!("GET" "/v1/projects/{project_id}/keys" "p_<p>_read",
    "list its active keys, in the order of ids", "" => 200 "KeyPage", parameters: PAGE);
pub(super) const TRANSLATION_GET: Route = route!("GET" "/v1/keys/{key_id}/translations/{locale}" "p_<p>_read",
    "the translation of a key", "" => 200 "Translation", is_core: true, takes_tag: true);
pub(super) const TRANSLATION_PUT: Route = route!("PUT" "/v1/keys/{key_id}/translations/{locale}" "p_<p>_loc_<tag>_translate",
    "write the translation of a key, as a draft", "TranslationPut" => 200 "Translation",
    key: Required, is_core: true, takes_tag: true,
    own_codes: &["key_obsolete", "edit_shape", "value_too_long", "value_unrepresentable", "conflict"]);

/// Every route, in the order of the documentation.
pub const ROUTES: &[Route] = &[
    HEALTHZ,
    READYZ,
    OPENAPI,
    LLMS,
    ME,
    WORKSPACE_LIST,
    WORKSPACE_CREATE,
    WORKSPACE_GET,
    PROJECT_LIST,
    PROJECT_CREATE,
    PROJECT_GET,
    PROJECT_PATCH,
    LOCALES_GET,
    LOCALES_PUT,
    SOURCE_LOCALE_GET,
    SOURCE_LOCALE_PUT,
    LOCALE_LIST,
    LOCALE_VALIDATE,
    FILE_UPLOAD,
    FILE_LIST,
    EXPORT,
    MANIFEST,
    CONTEXT_GET,
    CONTEXT_PUT,
    KEY_LIST,
    TRANSLATION_GET,
    TRANSLATION_PUT,
];
