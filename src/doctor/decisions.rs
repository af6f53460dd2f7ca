//! Decisions: whether the service that takes them answers.

use std::time::Duration;

use super::subject::{Finding, Subject};
use crate::admin::client::Client;
use crate::admin::decisions::{self, ServiceView};

/// How long the appliance may take to ask the service, which it gives up by itself before.
const PATIENCE: Duration = Duration::from_secs(4);

/// Whether the service that takes decisions answers.
pub fn check_decisions(subject: &Subject) -> Vec<Finding> {
    if subject.status().is_none() {
        return Vec::new();
    }
    // An appliance that does not answer is told of by other checks.
    let asked = Client::new(&subject.data_dir).with_patience(PATIENCE).ask(&decisions::SERVICE);
    asked.iter().map(standing).collect()
}

fn standing(service: &ServiceView) -> Finding {
    match (&service.problem, service.is_embedded) {
        (None, true) => Finding::ok("decisions", "They are taken at the desk: `quintet decision list`.".to_owned()),
        (None, false) => Finding::ok("decisions", format!("The decision service at {} answers.", service.url)),
        (Some(problem), _) if service.url.is_empty() => Finding::problem(
            "decisions",
            format!("There is no decision service: {problem}."),
            "`[decision] url = \"https://…\"`, or mode = \"embedded\" for the desk, then restart.",
        ),
        (Some(problem), _) => Finding::problem(
            "decisions",
            format!("The decision service at {} does not answer: {problem}.", service.url),
            "See whether it runs and what `curl -i` tells of it; decision.url, decision.api_key, egress.allow_private (for an \
             address of your own network) and tls.extra_ca say how it is reached. Nothing is lost: open decisions are read \
             again every ten minutes.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;

    #[test]
    fn a_service_that_does_not_answer_is_named() {
        let service = |url: &str, problem: Option<&str>| ServiceView {
            is_embedded: false,
            url: url.to_owned(),
            problem: problem.map(str::to_owned),
        };
        let found = told(&standing(&service("https://d.example", Some("no answer in time"))));
        let expected = "problem: The decision service at https://d.example does not answer: no answer in time. => ";
        assert!(found.starts_with(expected), "{found}");
        let found = told(&standing(&service("", Some("decision.url names none"))));
        assert!(found.starts_with("problem: There is no decision service: decision.url names none. => "), "{found}");
        let found = told(&standing(&service("https://d.example", None)));
        assert_eq!(found, "ok: The decision service at https://d.example answers.");
    }
}
