//! A route: what is served, who may call it, what it is told and what it answers. The router, the checks of what comes
//! in, `/openapi.json` and `/llms.txt` are all made from it, so that none of them can tell anything else.

use serde_json::{Value, json};

use super::shape::Shape;

/// A method that routes have. A GET serves HEAD as well, unless it does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes or does something.
    Post,
    /// Replaces.
    Put,
    /// Changes parts.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// As requests write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

impl From<Method> for http::Method {
    fn from(method: Method) -> http::Method {
        match method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
            Method::Patch => http::Method::PATCH,
            Method::Delete => http::Method::DELETE,
        }
    }
}

/// Something that a query may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be given.
    pub is_required: bool,
    /// Whether it may be given several times.
    pub is_repeatable: bool,
    /// What it may be.
    pub shape: Shape,
    /// What it means.
    pub about: &'static str,
}

impl Parameter {
    /// A parameter that may be left out.
    #[must_use]
    pub const fn new(name: &'static str, shape: Shape, about: &'static str) -> Parameter {
        Parameter { name, is_required: false, is_repeatable: false, shape, about }
    }

    /// The same, which must be there.
    #[must_use]
    pub const fn required(mut self) -> Parameter {
        self.is_required = true;
        self
    }

    /// The same, which may be given several times.
    #[must_use]
    pub const fn repeatable(mut self) -> Parameter {
        self.is_repeatable = true;
        self
    }

    /// The schema of what it may be.
    #[must_use]
    pub fn schema(&self) -> Value {
        match self.is_repeatable {
            true => json!({"type": "array", "items": self.shape.schema()}),
            false => self.shape.schema(),
        }
    }
}

/// A part of a path that varies: what its template has in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its name in the template.
    pub name: &'static str,
    /// What it names, in the whole of the service: two routes that take the same thing say the same here, whatever
    /// their templates call it.
    pub noun: &'static str,
    /// How it is written.
    pub shape: Shape,
}

impl Segment {
    /// A segment that is called like what it names.
    #[must_use]
    pub const fn new(name: &'static str, shape: Shape) -> Segment {
        Segment { name, noun: name, shape }
    }

    /// The same under another name in the template.
    #[must_use]
    pub const fn written(mut self, name: &'static str) -> Segment {
        self.name = name;
        self
    }
}

/// What a body is: its media types, each with the name of a schema or a schema itself, as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// JSON of one of the service's schemas.
    Json(&'static str),
    /// The same, or nothing at all.
    OptionalJson(&'static str),
    /// Other media types, each with its schema.
    Media(&'static [(&'static str, &'static str)]),
}

/// A success of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Success {
    /// The status.
    pub status: u16,
    /// The body.
    pub content: Content,
    /// What it means; empty: nothing more than that.
    pub about: &'static str,
}

/// Something that a route makes, or tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// What it is: the noun of the segments that take its name.
    pub noun: &'static str,
    /// Where its name stands in the answer, as a JSON pointer without the slash that it begins with.
    pub pointer: &'static str,
    /// Whether an address stands there that ends with the name.
    pub is_address: bool,
}

/// How many things a route makes at most.
const MADE_MAX: usize = 2;

/// Whether a route takes an Idempotency-Key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule {
    /// It pays no attention to one.
    Ignored,
    /// It may.
    Optional,
    /// It must.
    Required,
}

/// A served route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// What it is called: the `operationId`, unique in the service.
    pub name: &'static str,
    /// Its method; a GET serves HEAD as well, unless [`Route::has_no_head`].
    pub method: Method,
    /// Its path, what varies in braces.
    pub path: &'static str,
    /// What a caller must be allowed; empty: everybody may call it, or every key of the service.
    pub permission: &'static str,
    /// Whether every key of the service may call it, and nobody else.
    pub takes_every_key: bool,
    /// Whether its handler is asked about requests with other methods, too, so that it refuses them in its own order.
    pub meets_every_method: bool,
    /// Whether its GET does something, so that HEAD is no way to ask what it would answer.
    pub has_no_head: bool,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What its path has in braces, in order.
    pub segments: &'static [Segment],
    /// What its query may say.
    pub parameters: &'static [Parameter],
    /// Whether parameters that it does not know are passed over.
    pub takes_any_parameter: bool,
    /// The request's body.
    pub body: Content,
    /// The successes; the usual one first.
    pub successes: &'static [Success],
    /// Whether it takes an Idempotency-Key.
    pub key: KeyRule,
    /// What its answer's entity tag begins with in front of the `version` in its body; empty: none, or another.
    pub etag: &'static str,
    /// Whether it takes `If-Match`.
    pub is_conditional: bool,
    /// Whether it wants it.
    pub needs_condition: bool,
    /// What it makes, or tells of.
    pub makes: [Option<Made>; MADE_MAX],
    /// What is particular to the service about it, such as `core`; the description gets `x-core: true`.
    pub marks: &'static [&'static str],
    /// Its own error codes, besides those that follow from all of the above.
    pub codes: &'static [&'static str],
}

macro_rules! methods {
    ($($name:ident $method:ident $about:literal;)*) => {$(
        #[doc = $about]
        #[must_use]
        pub const fn $name(name: &'static str, path: &'static str) -> Route {
            Route::new(name, Method::$method, path)
        }
    )*};
}

impl Route {
    const fn new(name: &'static str, method: Method, path: &'static str) -> Route {
        Route {
            name,
            method,
            path,
            permission: "",
            takes_every_key: false,
            meets_every_method: false,
            has_no_head: false,
            summary: "",
            segments: &[],
            parameters: &[],
            takes_any_parameter: false,
            body: Content::Nothing,
            successes: &[],
            key: KeyRule::Ignored,
            etag: "",
            is_conditional: false,
            needs_condition: false,
            makes: [None; MADE_MAX],
            marks: &[],
            codes: &[],
        }
    }

    methods! {
        get Get "A route that reads.";
        post Post "A route that makes or does something.";
        put Put "A route that replaces.";
        patch Patch "A route that changes parts.";
        delete Delete "A route that removes.";
    }

    /// What it does, in a line.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Route {
        self.summary = summary;
        self
    }

    /// What a caller must be allowed.
    #[must_use]
    pub const fn permission(mut self, permission: &'static str) -> Route {
        self.permission = permission;
        self
    }

    /// Is for every key of the service, whatever it may do.
    #[must_use]
    pub const fn every_key(mut self) -> Route {
        self.takes_every_key = true;
        self
    }

    /// Asks its handler about requests with other methods, too.
    #[must_use]
    pub const fn every_method(mut self) -> Route {
        self.meets_every_method = true;
        self
    }

    /// Does something, although it is a GET: it serves no HEAD.
    #[must_use]
    pub const fn no_head(mut self) -> Route {
        self.has_no_head = true;
        self
    }

    /// What its path has in braces.
    #[must_use]
    pub const fn segments(mut self, segments: &'static [Segment]) -> Route {
        self.segments = segments;
        self
    }

    /// What its query may say.
    #[must_use]
    pub const fn parameters(mut self, parameters: &'static [Parameter]) -> Route {
        self.parameters = parameters;
        self
    }

    /// Passes over parameters that it does not know, as what is asked by others' tools does.
    #[must_use]
    pub const fn any_parameter(mut self) -> Route {
        self.takes_any_parameter = true;
        self
    }

    /// The request's body.
    #[must_use]
    pub const fn body(mut self, body: Content) -> Route {
        self.body = body;
        self
    }

    /// The successes; the usual one first.
    #[must_use]
    pub const fn successes(mut self, successes: &'static [Success]) -> Route {
        self.successes = successes;
        self
    }

    /// Whether it takes an Idempotency-Key.
    #[must_use]
    pub const fn key(mut self, key: KeyRule) -> Route {
        self.key = key;
        self
    }

    /// What its answer's entity tag begins with in front of the `version` in its body.
    #[must_use]
    pub const fn etag(mut self, letter: &'static str) -> Route {
        self.etag = letter;
        self
    }

    /// Wants `If-Match`.
    #[must_use]
    pub const fn conditional(mut self) -> Route {
        self.is_conditional = true;
        self.needs_condition = true;
        self
    }

    /// Takes `If-Match`, from whoever wants to replace nothing but what he has read.
    #[must_use]
    pub const fn conditional_at_will(mut self) -> Route {
        self.is_conditional = true;
        self
    }

    /// Makes something, or tells of it: what, and where in the answer its name stands, such as `keys/0/id`. Said again for
    /// each thing.
    #[must_use]
    pub const fn makes(self, noun: &'static str, pointer: &'static str) -> Route {
        self.and_makes(Made { noun, pointer, is_address: false })
    }

    /// The same where the answer has an address that ends with the name.
    #[must_use]
    pub const fn makes_at(self, noun: &'static str, pointer: &'static str) -> Route {
        self.and_makes(Made { noun, pointer, is_address: true })
    }

    const fn and_makes(mut self, made: Made) -> Route {
        // Routes are constants: of more than there is room for the build would tell.
        let [first, second] = self.makes;
        assert!(second.is_none(), "a route makes no more than that");
        self.makes = if first.is_none() { [Some(made), None] } else { [first, Some(made)] };
        self
    }

    /// What is particular to the service about it.
    #[must_use]
    pub const fn marks(mut self, marks: &'static [&'static str]) -> Route {
        self.marks = marks;
        self
    }

    /// Its own error codes.
    #[must_use]
    pub const fn codes(mut self, codes: &'static [&'static str]) -> Route {
        self.codes = codes;
        self
    }

    /// Whether it wants a key.
    #[must_use]
    pub const fn wants_key(&self) -> bool {
        !self.permission.is_empty() || self.takes_every_key
    }

    /// Whether it changes something.
    #[must_use]
    pub const fn is_change(&self) -> bool {
        !matches!(self.method, Method::Get)
    }

    /// Whether it has this mark.
    #[must_use]
    pub fn has_mark(&self, mark: &str) -> bool {
        self.marks.contains(&mark)
    }

    /// Method and path in one.
    #[must_use]
    pub fn template(&self) -> String {
        format!("{} {}", self.method.as_str(), self.path)
    }
}

/// A success with JSON of one of the service's schemas.
#[must_use]
pub const fn json(status: u16, schema: &'static str) -> Success {
    Success { status, content: Content::Json(schema), about: "" }
}

/// A success with JSON that has no schema.
#[must_use]
pub const fn any_json(status: u16) -> Success {
    Success { status, content: Content::Media(&[("application/json", r#"{"type":"object"}"#)]), about: "" }
}

/// A success without a body.
#[must_use]
pub const fn nothing(status: u16) -> Success {
    Success { status, content: Content::Nothing, about: "" }
}

/// A success with bodies of other media types, each with its schema.
#[must_use]
pub const fn media(status: u16, media: &'static [(&'static str, &'static str)]) -> Success {
    Success { status, content: Content::Media(media), about: "" }
}

impl Success {
    /// The same with what it means.
    #[must_use]
    pub const fn about(mut self, about: &'static str) -> Success {
        self.about = about;
        self
    }
}
