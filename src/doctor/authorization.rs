//! The authorization system that is told of grants: whether it answers.

use std::time::Duration;

use super::subject::{Finding, Subject};
use crate::admin::client::Client;
use crate::admin::localization::{AUTHORIZATION, AuthorizationView};

/// How long the appliance may take to ask it, which has two seconds.
const PATIENCE: Duration = Duration::from_secs(4);

/// Whether the authorization system answers, if there is one and the appliance runs.
pub fn check_authorization(subject: &Subject) -> Vec<Finding> {
    if subject.status().is_none() {
        return Vec::new();
    }
    // An appliance that does not answer is told of by other checks.
    let asked = Client::new(&subject.data_dir).with_patience(PATIENCE).ask(&AUTHORIZATION);
    asked.ok().and_then(|view| finding(&view)).into_iter().collect()
}

fn finding(view: &AuthorizationView) -> Option<Finding> {
    match (&view.problem, view.is_set) {
        (_, false) => None,
        (None, true) => {
            Some(Finding::ok("authorization", "The system that authorization.url names answers.".to_owned()))
        }
        (Some(problem), true) => Some(Finding::warning(
            "authorization",
            format!("The system that authorization.url names cannot be told of grants: {problem}."),
            "Requests go on, but grants stay granting and revoking until it answers: see whether it runs, and whether \
             authorization.url, authorization.api_key and egress.allow_private are right.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;

    #[test]
    fn what_does_not_answer_is_told() {
        let view = |is_set, problem: Option<&str>| AuthorizationView { is_set, problem: problem.map(str::to_owned) };
        assert!(finding(&view(false, None)).is_none());
        assert!(told(&finding(&view(true, None)).unwrap()).starts_with("ok: "));
        let found = told(&finding(&view(true, Some("it does not answer"))).unwrap());
        assert!(found.starts_with("warning: ") && found.contains("it does not answer. => "), "{found}");
    }
}
