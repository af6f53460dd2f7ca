//! Messaging: whether its workspaces can be reached, and what of its configuration does nothing yet.

use quintet_messaging::operator::StandingView;

use super::subject::{Finding, Subject};
use crate::config::Config;
use crate::config::Origin;
use crate::measures::counted;

/// Keys that are read and checked, and do nothing yet.
const STILL_TO_COME: [&str; 3] = ["messaging.smtp_listen", "messaging.smtp_relay", "messaging.signup"];

/// Whether workspaces are served, and what does nothing yet.
pub fn check_messaging(subject: &Subject) -> Vec<Finding> {
    let mut findings: Vec<Finding> = subject.config.iter().flat_map(idle).collect();
    if let Some(status) = subject.status() {
        let is_served = status.services.iter().any(|service| service.name == "messaging");
        findings.extend(standing(&status.messaging, is_served));
    }
    findings
}

/// Keys that somebody has set for nothing.
fn idle(config: &Config) -> Option<Finding> {
    let is_set =
        |key: &str| config.effective.iter().any(|entry| entry.dotted() == key && entry.origin != Origin::Default);
    let set: Vec<&str> = STILL_TO_COME.into_iter().filter(|key| is_set(key)).collect();
    (!set.is_empty()).then(|| {
        Finding::warning(
            "messaging",
            format!(
                "Mail from and to the outside, and signing up, are still to come: {} does nothing.",
                set.join(", ")
            ),
            "Leave it, or take it out of the configuration; messages inside of workspaces need none of it.",
        )
    })
}

fn standing(messaging: &StandingView, is_served: bool) -> Option<Finding> {
    let workspaces = counted(messaging.workspaces, "workspace", "workspaces");
    let agents = counted(messaging.active_agents, "agent", "agents");
    match (is_served, messaging.workspaces) {
        (true, _) => Some(Finding::ok("messaging", format!("{workspaces} with {agents}."))),
        (false, 0) => None,
        (false, _) => Some(Finding::warning(
            "messaging",
            format!("{workspaces} with {agents} cannot be reached: listen.messaging is off."),
            "`[listen] messaging = \"127.0.0.1:7440\"`, then restart; or delete what nobody uses any more with \
             `quintet messaging workspace delete SLUG --yes`.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;
    use crate::config::Sources;

    #[test]
    fn workspaces_that_nobody_reaches_are_told() {
        let messaging = StandingView { workspaces: 2, active_agents: 1, ..StandingView::default() };
        let told = |is_served| standing(&messaging, is_served).map(|finding| told(&finding)).unwrap();
        assert_eq!(told(true), "ok: 2 workspaces with 1 agent.");
        assert!(
            told(false)
                .starts_with("warning: 2 workspaces with 1 agent cannot be reached: listen.messaging is off. => ")
        );
        assert_eq!(standing(&StandingView::default(), false), None);
    }

    #[test]
    fn what_does_nothing_yet_is_told_when_somebody_sets_it() {
        let config = |name: &str, value: &str| {
            let environment = vec![(format!("QUINTET_MESSAGING__{name}"), value.to_owned())];
            Config::load(&Sources { environment, ..Sources::default() }).unwrap()
        };
        assert_eq!(idle(&config("DOMAIN", "agents.example.com")), None);
        let found = idle(&config("SMTP_RELAY", "mail.example.com:25")).unwrap();
        assert!(told(&found).contains("messaging.smtp_relay does nothing"), "{}", told(&found));
    }
}
