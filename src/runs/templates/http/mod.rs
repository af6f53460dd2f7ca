//! Templates over HTTP.
//!
//! Reading order: this file (the routes on one screen) · `form` (reading), `wire` (writing) · `path` (what a path names) ·
//! `templates` (storing and changing them), `reading`, `pictures`, `runs` (running them) · `trigger_form`, `triggers`.

mod form;
mod path;
mod pictures;
mod reading;
mod runs;
mod templates;
mod trigger_form;
mod triggers;
mod wire;

use quintet_platform::service::Endpoint;

use crate::dialect::Runs;

/// What is served of templates.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[
    Endpoint::new(&templates::CREATE, |call| Box::pin(templates::create(call))),
    Endpoint::new(&reading::LIST, |call| Box::pin(reading::list(call))),
    Endpoint::new(&reading::GET, |call| Box::pin(reading::get(call))),
    Endpoint::new(&reading::VERSIONS, |call| Box::pin(reading::versions(call))),
    Endpoint::new(&pictures::GRAPH, |call| Box::pin(pictures::graph(call))),
    Endpoint::new(&templates::REPLACE, |call| Box::pin(templates::replace(call))),
    Endpoint::new(&templates::CHANGE, |call| Box::pin(templates::change(call))),
    Endpoint::new(&templates::DELETE, |call| Box::pin(templates::delete(call))),
    Endpoint::new(&runs::RUN, |call| Box::pin(runs::run(call))),
    Endpoint::new(&triggers::CREATE, |call| Box::pin(triggers::create(call))),
    Endpoint::new(&triggers::LIST, |call| Box::pin(triggers::list(call))),
    Endpoint::new(&triggers::GET, |call| Box::pin(triggers::get(call))),
    Endpoint::new(&triggers::CHANGE, |call| Box::pin(triggers::change(call))),
    Endpoint::new(&triggers::DELETE, |call| Box::pin(triggers::delete(call))),
    Endpoint::new(&triggers::PAUSE, |call| Box::pin(triggers::pause(call))),
    Endpoint::new(&triggers::RESUME, |call| Box::pin(triggers::resume(call))),
    Endpoint::new(&triggers::RUN, |call| Box::pin(triggers::run(call))),
];
