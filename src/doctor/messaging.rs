//! Messaging: whether its workspaces can be reached, whether mail can leave and come, and whether people can sign up where they
//! are to.

use std::time::Duration;

use quintet_messaging::operator::{StandingView, try_relay};
use quintet_platform::egress::{exchanges, resolver, texts};

use super::subject::{Finding, Subject};
use crate::config::Config;
use crate::measures::counted;
use crate::outside;

/// How long the relay, or a name server, may take; the check itself has a little more.
const PATIENCE: Duration = Duration::from_secs(4);

/// What these findings are about.
const MAIL: &str = "mail";

/// Whether mail with the outside can come and leave: the relay is spoken to, and name servers are asked what they tell others
/// of the domain.
pub fn check_mail(subject: &Subject) -> Vec<Finding> {
    let Ok(config) = &subject.config else { return Vec::new() };
    let is_wanted = config.messaging_smtp_listen.is_some() || !config.smtp_relay().expose().is_empty();
    if !is_wanted {
        return vec![Finding::ok(
            MAIL,
            "The configuration has neither a listener nor a relay: there is no mail with the outside.",
        )];
    }
    if config.messaging_domain.is_empty() {
        return vec![Finding::warning(
            MAIL,
            "There is no mail with the outside: messaging.domain is empty.",
            "`[messaging] domain = \"agents.example.com\"`, a domain of yours, then restart.",
        )];
    }
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    runtime.block_on(async {
        let relay =
            async { tokio::time::timeout(PATIENCE, relay(config)).await.unwrap_or_else(|_| vec![late("The relay")]) };
        let names = async {
            tokio::time::timeout(PATIENCE, names(config)).await.unwrap_or_else(|_| vec![late("A name server")])
        };
        let (mut relay, names) = tokio::join!(relay, names);
        relay.extend(names);
        relay
    })
}

fn late(what: &str) -> Finding {
    let cure =
        "See whether it can be reached from this machine; messaging.smtp_relay and messaging.smtp_resolver say where.";
    Finding::warning(MAIL, format!("{what} does not answer in time."), cure)
}

async fn relay(config: &Config) -> Vec<Finding> {
    // What is wrong with tls.extra_ca or the password's file is another check's to tell.
    let Ok(mail) = outside::egress(config).and_then(|egress| outside::mail(config, &egress)) else { return Vec::new() };
    let Some(outcome) = try_relay(&mail, &config.messaging_domain).await else {
        return vec![Finding::ok(MAIL, "There is no relay: no mail leaves.")];
    };
    match outcome {
        Ok(()) => vec![Finding::ok(MAIL, "The relay answers, and lets the appliance in.")],
        Err(why) => vec![Finding::warning(
            MAIL,
            format!("The relay cannot be used ({why}): mail waits for a day, and is given up then."),
            "See that messaging.smtp_relay is its address, and smtp_relay_tls, smtp_relay_user and smtp_relay_password are \
             what it wants; an authority of your own must be listed in tls.extra_ca.",
        )],
    }
}

/// Others look a domain up before they write to it, and before they believe what comes from it.
async fn names(config: &Config) -> Vec<Finding> {
    let domain = &config.messaging_domain;
    let Ok(servers) = resolver(config.messaging_smtp_resolver) else { return Vec::new() };
    let mut findings = Vec::new();
    if config.messaging_smtp_listen.is_some() {
        findings.push(match exchanges(&servers, domain).await {
            Ok(all) if all.is_empty() => Finding::warning(
                MAIL,
                format!("{domain} has no MX record: nobody knows where to send mail for it."),
                format!("Have the domain's name server say `{domain}. MX 10 HOST.`, HOST being this machine or what passes mail on to it."),
            ),
            Ok(all) => Finding::ok(MAIL, format!("Mail for {domain} goes to {}.", all.join(", "))),
            Err(why) => unknown("MX", domain, &why),
        });
    }
    if !config.smtp_relay().expose().is_empty() {
        findings.push(match texts(&servers, domain).await {
            Ok(all) if all.iter().any(|text| text.starts_with("v=spf1")) => {
                Finding::ok(MAIL, format!("{domain} says who may send its mail (SPF)."))
            }
            Ok(_) => Finding::warning(
                MAIL,
                format!("{domain} has no SPF record: others may take its mail for forged."),
                format!("Have the domain's name server say `{domain}. TXT \"v=spf1 a:RELAY -all\"`, RELAY being the relay's name outside."),
            ),
            Err(why) => unknown("SPF", domain, &why),
        });
    }
    findings
}

fn unknown(what: &str, domain: &str, why: &str) -> Finding {
    let cure = "See `getent hosts example.com`; messaging.smtp_resolver names another name server.";
    Finding::warning(MAIL, format!("The {what} record of {domain} cannot be asked for: {why}."), cure)
}

/// Whether workspaces are served, and people can sign up.
pub fn check_messaging(subject: &Subject) -> Vec<Finding> {
    let mut findings: Vec<Finding> = subject.config.iter().flat_map(signing_up).collect();
    if let Some(status) = subject.status() {
        let is_served = status.services.iter().any(|service| service.name == "messaging");
        findings.extend(standing(&status.messaging, is_served));
    }
    findings
}

/// Signing up needs a relay: an address is confirmed by a link that is sent there.
fn signing_up(config: &Config) -> Option<Finding> {
    let has_mail = !config.messaging_domain.is_empty() && !config.smtp_relay().expose().is_empty();
    (config.messaging_signup_open && !has_mail).then(|| {
        Finding::warning(
            "messaging",
            "Nobody can sign up: messaging.signup is open, and no mail leaves.",
            "Set messaging.domain and messaging.smtp_relay, or `signup = \"off\"`; then restart.",
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
    fn signing_up_without_mail_is_told() {
        let config = |all: &[(&str, &str)]| {
            let name = |name: &str| format!("QUINTET_MESSAGING__{name}");
            let environment = all.iter().map(|(key, value)| (name(key), (*value).to_owned())).collect();
            Config::load(&Sources { environment, ..Sources::default() }).unwrap()
        };
        let mail = [("SIGNUP", "open"), ("DOMAIN", "agents.example.com"), ("SMTP_RELAY", "127.0.0.1:25")];
        assert_eq!(signing_up(&config(&mail[1..])), None);
        assert_eq!(signing_up(&config(&mail)), None);
        let found = signing_up(&config(&mail[..2])).unwrap();
        assert!(told(&found).contains("Nobody can sign up"), "{}", told(&found));
    }
}
