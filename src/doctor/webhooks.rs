//! Webhooks: endpoints that were disabled, deliveries that nobody gets around to, names that do not resolve.

use std::time::Duration;

use super::subject::{Finding, Subject};
use crate::admin::client::Client;
use crate::admin::status;
use crate::admin::webhooks::{self, HostView, HostsView, WebhooksView};
use crate::measures::counted;

/// How long the appliance may take to ask for the names; it stops by itself before.
const PATIENCE: Duration = Duration::from_secs(4);
/// Hosts that are told one by one.
const TOLD_MAX: usize = 5;

/// What is in the way of deliveries.
pub fn check_webhooks(subject: &Subject) -> Vec<Finding> {
    let Some(status) = subject.status() else { return Vec::new() };
    let mut findings = standing(&status.webhooks);
    if status.webhooks.endpoints > status.webhooks.endpoints_disabled {
        // One that does not answer is told of by other checks.
        let asked = Client::new(&subject.data_dir).with_patience(PATIENCE).ask(&webhooks::HOSTS);
        findings.extend(asked.iter().flat_map(hosts));
    }
    if findings.is_empty() {
        let endpoints = counted(status.webhooks.endpoints, "endpoint", "endpoints");
        let waiting = counted(status.webhooks.pending_deliveries, "delivery waits", "deliveries wait");
        findings.push(Finding::ok("webhooks", format!("{endpoints}; {waiting}, none of them for long.")));
    }
    findings
}

fn standing(webhooks: &WebhooksView) -> Vec<Finding> {
    let behind = status::behind(webhooks).map(|says| {
        Finding::warning(
            "webhooks",
            says,
            "`quintet webhook list` shows whose attempts fail, `quintet webhook deliveries --state pending` the newest that \
             wait; a receiver that takes long to answer holds up its own, a disk that is full or slow holds up all.",
        )
    });
    let disabled = status::disabled(webhooks).map(|says| {
        Finding::warning(
            "webhooks",
            says,
            "Tell the tenant; once the receiver answers, `quintet webhook enable ENDPOINT`, then \
             `quintet webhook redeliver --endpoint ENDPOINT --dead-since INSTANT` for what was given up; for those of \
             localization with `--service localization`.",
        )
    });
    behind.into_iter().chain(disabled).collect()
}

fn hosts(hosts: &HostsView) -> Vec<Finding> {
    let name = |host: &HostView| format!("{} ({})", host.host, counted(host.endpoints, "endpoint", "endpoints"));
    let told = |wanted: bool| {
        let some: Vec<&HostView> = hosts.items.iter().filter(|host| host.is_unresolved == wanted).collect();
        let mut named: Vec<String> = some.iter().take(TOLD_MAX).map(|host| name(host)).collect();
        if some.len() > TOLD_MAX {
            named.push(format!("{} more", some.len() - TOLD_MAX));
        }
        (!named.is_empty()).then(|| named.join(", "))
    };
    let unresolved = told(true).map(|named| {
        Finding::warning(
            "webhooks",
            format!("Names of endpoints do not resolve: {named}."),
            "See whether this machine's name servers answer: `getent hosts NAME`; if they do, tell the tenant. \
             `quintet webhook list` shows whose it is.",
        )
    });
    let refused = told(false).map(|named| {
        Finding::warning(
            "webhooks",
            format!("Endpoints are where nothing is sent to: {named} must not be called."),
            "They are not of the public internet (any more): list their networks in egress.allow_private if they may be \
             called, and restart; or tell the tenant. `quintet webhook list` shows whose it is.",
        )
    });
    let left_out = (hosts.left_out > 0).then(|| {
        let says =
            format!("There was time to ask for {} names of endpoints; {} were not.", hosts.looked_at, hosts.left_out);
        Finding::ok("webhooks", says)
    });
    unresolved.into_iter().chain(refused).chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::super::subject::told;
    use super::*;

    #[test]
    fn what_is_behind_or_disabled_is_told() {
        let webhooks = WebhooksView {
            endpoints: 9,
            endpoints_disabled: 3,
            endpoints_given_up: 2,
            pending_deliveries: 1,
            oldest_due_seconds: Some(7_200),
        };
        let found = standing(&webhooks);
        assert_eq!(found.len(), 2);
        let behind = "warning: Webhooks are behind: 1 delivery waits, and an attempt has been due for 2 h 0 min. => ";
        assert!(told(&found[0]).starts_with(behind), "{}", told(&found[0]));
        assert!(told(&found[1]).starts_with("warning: 2 webhook endpoints were disabled: "), "{}", told(&found[1]));
        assert_eq!(standing(&WebhooksView::default()), []);
    }

    #[test]
    fn hosts_are_told_apart_and_not_all_of_them() {
        let host = |name: &str, is_unresolved: bool| HostView {
            host: name.to_owned(),
            problem: String::new(),
            is_unresolved,
            endpoint_id: String::new(),
            endpoints: 1,
        };
        let mut items: Vec<HostView> = (0..8).map(|number| host(&format!("h{number}:443"), true)).collect();
        items.push(host("10.0.0.1:443", false));
        let found = hosts(&HostsView { items, looked_at: 32, left_out: 8 });
        assert_eq!(found.len(), 3);
        assert_eq!(
            found[0].says,
            "Names of endpoints do not resolve: h0:443 (1 endpoint), h1:443 (1 endpoint), h2:443 (1 endpoint), \
             h3:443 (1 endpoint), h4:443 (1 endpoint), 3 more."
        );
        assert!(found[1].says.contains("10.0.0.1:443 (1 endpoint) must not be called"), "{}", found[1].says);
        assert_eq!(told(&found[2]), "ok: There was time to ask for 32 names of endpoints; 8 were not.");
    }
}
