//! The route table: what is served, who may call it, and what it is described with.

/// A served route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its method; a GET serves HEAD as well.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// The permission a key must have; empty: everybody may call it.
    pub permission: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The status of success.
    pub status: u16,
    /// The schema of the request's body; empty: none.
    pub request: &'static str,
    /// The schema of the answer; empty: no JSON.
    pub answer: &'static str,
    /// What its query may say: names.
    pub parameters: &'static [&'static str],
    /// Its own error codes, besides those that go with its kind.
    pub own_codes: &'static [&'static str],
}

macro_rules! route {
    ($method:literal $path:literal $permission:literal, $summary:literal, $request:literal => $status:literal $answer:literal $(, $name:ident: $value:expr)*) => {
        Route {
            $($name: $value,)*
            ..Route {
                method: $method,
                path: $path,
                permission: $permission,
                summary: $summary,
                status: $status,
                request: $request,
                answer: $answer,
                parameters: &[],
                own_codes: &[],
            }
        }
    };
}

pub(super) const HEALTH: Route =
    route!("GET" "/health" "", "how the service is: database, engine, workers", "" => 200 "Health");

/// Every route, in the order of the documentation.
pub const ROUTES: &[Route] = &[HEALTH];
