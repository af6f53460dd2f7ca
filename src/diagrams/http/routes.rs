//! The route table: what is served, and what it is described with. The router, `/api/docs`, `/openapi.json` and
//! `/llms.txt` are made from it.

/// A served route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its method; a GET serves HEAD as well.
    pub method: &'static str,
    /// Its path, parts that vary as `{name}`.
    pub path: &'static str,
    /// What a key must be allowed, if keys are required at all; empty: open to everybody.
    pub permission: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What its query, its path or its body say: name, where, whether it is required, what it means.
    pub parameters: &'static [Parameter],
    /// What it answers: status and meaning.
    pub answers: &'static [(u16, &'static str)],
    /// The media type of its success.
    pub media_type: &'static str,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the query.
    Query,
    /// In the path.
    Path,
    /// A field of the body.
    Body,
}

/// Something that a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Whether it must be there.
    pub is_required: bool,
    /// What its values may be; empty: any text.
    pub one_of: &'static [&'static str],
    /// What it means.
    pub about: &'static str,
}

/// What a key must be allowed.
pub const PERMISSION: &str = "diagrams_render";

const JSON: &str = "application/json";
/// The media type of pages.
pub(super) const HTML: &str = "text/html";

const fn parameter(name: &'static str, place: Place, is_required: bool, about: &'static str) -> Parameter {
    Parameter { name, place, is_required, one_of: &[], about }
}

const DOTFILE: Parameter = parameter("dotfile", Place::Body, true, "DOT source, at most 1 MiB.");

/// The page.
pub const PAGE: Route = Route {
    method: "GET",
    path: "/",
    permission: "",
    summary: "The web page: DOT on the left, the picture on the right",
    parameters: &[
        parameter("inline", Place::Query, false, "DOT source to draw on load, as base64 or base64url."),
        Parameter {
            one_of: &["1"],
            ..parameter("view", Place::Query, false, "1: nothing but the picture of `inline`.")
        },
    ],
    answers: &[
        (200, "the page"),
        (400, "{error}: an unknown parameter; or the page: an `inline` that is no base64 of text"),
    ],
    media_type: HTML,
};

/// The page as a form, for browsers without scripts.
pub const FORM: Route = Route {
    method: "POST",
    path: "/",
    permission: "",
    summary: "The web page's form, for browsers without scripts",
    parameters: &[
        parameter("dotfile", Place::Body, false, "DOT source (the body is application/x-www-form-urlencoded)."),
        parameter("prompt", Place::Body, false, "What to ask the AI engine for, with action=generate."),
        parameter("key", Place::Body, false, "An API key, where keys are required."),
        Parameter {
            one_of: &["draw", "generate"],
            ..parameter("action", Place::Body, false, "Which button was pressed.")
        },
    ],
    answers: &[
        (200, "the page with the picture"),
        (400, "a malformed form or an unknown field"),
        (401, "a key is required"),
        (403, "the key lacks diagrams_render"),
        (413, "the source is too large"),
        (422, "the page with what is wrong with the source"),
        (502, "the AI engine failed"),
        (503, "too much at once, or no AI engine"),
    ],
    media_type: HTML,
};

/// What the page is made of.
pub const ASSET: Route = Route {
    method: "GET",
    path: "/assets/{name}",
    permission: "",
    summary: "A script or style sheet of the page",
    parameters: &[parameter("name", Place::Path, true, "The file's name.")],
    answers: &[(200, "the file"), (304, "as before"), (404, "no such file")],
    media_type: "text/javascript",
};

/// The description.
pub const DOCS: Route = Route {
    method: "GET",
    path: "/api/docs",
    permission: "",
    summary: "This interface as JSON",
    parameters: &[],
    answers: &[(200, "{title, version, endpoints, examples}")],
    media_type: JSON,
};

/// DOT from a sentence.
pub const GENERATE: Route = Route {
    method: "POST",
    path: "/generate",
    permission: PERMISSION,
    summary: "Write DOT for a text, with the configured AI engine",
    parameters: &[parameter("prompt", Place::Body, true, "What the diagram should show; at most 16 KiB.")],
    answers: &[
        (200, "{dotfile}: valid DOT"),
        (400, "{error}: a malformed request"),
        (413, "{error}: the prompt is too long"),
        (502, "{error}: the engine failed, or gave invalid DOT twice"),
        (503, "{error}: no engine is configured, or too much at once (Retry-After)"),
    ],
    media_type: JSON,
};

/// A picture is made.
pub const RENDER: Route = Route {
    method: "POST",
    path: "/graphs",
    permission: PERMISSION,
    summary: "Draw DOT source and keep the picture",
    parameters: &[
        DOTFILE,
        Parameter { one_of: &["png", "svg"], ..parameter("format", Place::Query, false, "png (default) or svg.") },
    ],
    answers: &[
        (200, "{url}: where the picture is; X-Render-Warning and X-Render-Degraded say what was not honoured"),
        (400, "{error}: malformed JSON, a missing or unknown field, another format"),
        (413, "{error}: the source is over 1 MiB"),
        (422, "{error, line, column}: the source cannot be drawn; or {error} naming the limit it is over"),
        (503, "{error}: too much at once, or storage takes no writes (Retry-After)"),
    ],
    media_type: JSON,
};

/// A picture.
pub const GRAPH: Route = Route {
    method: "GET",
    path: "/graphs/{filename}",
    permission: PERMISSION,
    summary: "A stored picture",
    parameters: &[
        parameter("filename", Place::Path, true, "The SHA-256 of what was drawn, with .png or .svg behind it."),
        Parameter {
            one_of: &["true", "false"],
            ..parameter("base64", Place::Query, false, "true: the picture as base64, in text/plain.")
        },
    ],
    answers: &[
        (200, "the picture, with an ETag; it never changes"),
        (304, "If-None-Match names it"),
        (400, "{error}: not a file name of a picture, or an unknown parameter"),
        (404, "{error}: no such picture, or it was pruned; draw it again"),
    ],
    media_type: "image/png",
};

/// A verdict.
pub const VALIDATE: Route = Route {
    method: "POST",
    path: "/validate",
    permission: PERMISSION,
    summary: "Check DOT source, which may hold several graphs",
    parameters: &[DOTFILE],
    answers: &[
        (200, "{valid: true}, or {valid: false, error, line, column}"),
        (400, "{error}: malformed JSON, a missing or unknown field"),
        (413, "{error}: the source is over 1 MiB"),
        (503, "{error}: too much at once (Retry-After)"),
    ],
    media_type: JSON,
};

/// Whether it works.
pub const HEALTH: Route = Route {
    method: "GET",
    path: "/health",
    permission: "",
    summary: "Whether pictures can be drawn and stored",
    parameters: &[],
    answers: &[
        (200, "{status: healthy, version, waiting}"),
        (503, "{status: degraded, reason}: drawings have been waiting for 10 s, or storage takes no writes"),
    ],
    media_type: JSON,
};

/// The description in OpenAPI 3.1.
pub const OPENAPI: Route = Route {
    method: "GET",
    path: "/openapi.json",
    permission: "",
    summary: "This interface in OpenAPI 3.1",
    parameters: &[],
    answers: &[(200, "the description")],
    media_type: JSON,
};

/// The description for agents.
pub const LLMS: Route = Route {
    method: "GET",
    path: "/llms.txt",
    permission: "",
    summary: "All that an agent needs to use this interface",
    parameters: &[],
    answers: &[(200, "the guide")],
    media_type: "text/plain",
};

/// Everything that is served.
pub const ROUTES: &[Route] = &[PAGE, FORM, DOCS, GENERATE, RENDER, GRAPH, VALIDATE, HEALTH, OPENAPI, LLMS, ASSET];
