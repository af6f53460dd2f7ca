//! Mail that leaves, by relays of aiosmtpd.

use serde_json::{Value, json};

use super::{DOMAIN, Server, address, open, setup, until, with_relay};
use crate::support::appliance::{Appliance, stdout};
use crate::support::messaging::{Agent, Workspace, refused};

fn send(agent: &Agent, to: &[&str]) -> Value {
    agent.send_with(to, "At noon?", json!({"subject": "Lunch"})).expect(202)
}

fn undeliverable(appliance: &Appliance, workspace: &Workspace<'_>) -> Vec<Value> {
    let listed = appliance.cli_json(&["messaging", "undeliverable", "--workspace", &workspace.slug]);
    listed["items"].as_array().unwrap().clone()
}

fn verified(appliance: &Appliance) {
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{}", stdout(&verified));
}

#[test]
fn a_message_arrives_outside_and_its_answer_comes_back() {
    let relay = Server::start("relay.py", &["fine"]);
    let appliance = with_relay(&relay).start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let file = json!({"filename": "plan.txt", "content_type": "text/plain", "content_base64": "SGk="});
    let message = json!({"subject": "Lunch", "attachments": [file], "cc": ["eve@example.com"]});
    let sent = ann.send_with(&["ben@example.com"], "At noon?", message).expect(202);
    until("the relay gets it", || !relay.mails().is_empty());
    let mail = &relay.mails()[0];
    let id = sent["id"].as_str().unwrap();
    assert_eq!(mail["to"], json!(["ben@example.com", "eve@example.com"]));
    let own = format!("<{id}@{DOMAIN}>");
    assert_eq!((&mail["id"], &mail["automatic"], &mail["files"]), (&json!(own), &json!("no"), &json!(["plan.txt"])));
    assert_eq!(mail["from"], format!("agentbus+{}.ann+b.{id}@{DOMAIN}", workspace.slug));
    // An answer is in the thread, and the answer to that names it.
    let answer = format!(
        "From: Ben <ben@example.com>\r\nTo: {}\r\nSubject: Re: Lunch\r\nMessage-ID: <1@example.com>\r\nIn-Reply-To: {own}\r\n\r\nYes.\r\n",
        address(&workspace, "ann")
    );
    let program = "import smtplib, sys\nhost, port = sys.argv[1].split(':')\nwith smtplib.SMTP(host, int(port)) as s:\n \
                   s.sendmail('ben@example.com', [sys.argv[2]], sys.argv[3].encode())\n";
    let arguments = ["-c", program, appliance.address("smtp"), &address(&workspace, "ann"), &answer];
    let python = std::process::Command::new("python3").args(arguments).status().unwrap();
    assert!(python.success());
    let rows = ann.inbox(0);
    assert_eq!((&rows[0]["thread_id"], &rows[0]["sender_display"]), (&sent["thread_id"], &json!("Ben")));
    let reply = format!("/v1/messages/{}/reply", rows[0]["message_id"].as_str().unwrap());
    ann.client.post(&reply, &json!({"text": "Fine"})).expect(202);
    until("the relay gets the answer", || relay.mails().len() == 2);
    assert_eq!(
        (&relay.mails()[1]["answers"], &relay.mails()[1]["subject"]),
        (&json!("<1@example.com>"), &json!("Re: Lunch"))
    );
    let metrics = || appliance.stranger("operations").get("/metrics").text;
    until("it is counted", || metrics().contains("quintet_messaging_mail_sent_total 2"));
    assert!(metrics().contains("quintet_messaging_mail_received_total 1"), "{}", metrics());
    verified(&appliance);
}

/// On a draft as on any other way of sending.
#[test]
fn drafts_leave_as_well() {
    let relay = Server::start("relay.py", &["slow"]);
    let appliance = with_relay(&relay).start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let draft = ann.client.post("/v1/drafts", &json!({"to": ["ben@example.com"], "subject": "Plan", "text": "x"}));
    let path = format!("/v1/drafts/{}/send", draft.expect(201)["id"].as_str().unwrap());
    assert_eq!(ann.client.post(&path, &json!({})).expect(202)["external_count"], 1);
    until("the relay gets it", || !relay.mails().is_empty());
    assert_eq!(relay.mails()[0]["subject"], "Plan");
}

#[test]
fn whoever_the_relay_refuses_is_told_of() {
    let relay = Server::start("relay.py", &["refuse"]);
    let appliance = with_relay(&relay).rehearsal().start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let sent = send(&ann, &["nobody@example.com", "ben@example.com"]);
    appliance.cli_json(&["clock", "advance", "1"]);
    assert_eq!(relay.mails()[0]["to"], json!(["ben@example.com"]));
    let lines = undeliverable(&appliance, &workspace);
    assert_eq!((lines.len(), &lines[0]["recipient"]), (1, &json!("nobody@example.com")));
    assert!(lines[0]["reason"].as_str().unwrap().contains("550 5.1.1"), "{lines:?}");
    let rows = ann.inbox(0);
    assert_eq!((&rows[0]["subject"], &rows[0]["thread_id"]), (&json!("Not delivered: Lunch"), &sent["thread_id"]));
    verified(&appliance);
}

#[test]
fn what_is_put_off_or_cut_off_arrives_later() {
    for (mode, mails) in [("greylist", 1), ("cut", 2)] {
        let relay = Server::start("relay.py", &[mode]);
        let appliance = with_relay(&relay).rehearsal().start();
        let workspace = open(&appliance);
        let ann = workspace.agent("ann");
        send(&ann, &["ben@example.com"]);
        appliance.cli_json(&["clock", "advance", "1"]);
        let status = stdout(&appliance.cli(&["status"]));
        let words: Vec<&str> = status.split_whitespace().collect();
        assert!(words.join(" ").contains("1 mail waits for the relay"), "{status}");
        appliance.cli_json(&["clock", "advance", "10"]);
        assert_eq!(relay.mails().len(), mails, "{mode}");
        let ids: Vec<Value> = relay.mails().iter().map(|mail| mail["id"].clone()).collect();
        assert!(ids.iter().all(|id| id == &ids[0]), "{ids:?}");
        assert!(undeliverable(&appliance, &workspace).is_empty() && ann.inbox(0).is_empty());
        verified(&appliance);
    }
}

#[test]
fn what_no_relay_takes_is_given_up_after_a_day() {
    let relay = Server::start("relay.py", &["fine"]);
    let setup = with_relay(&relay).rehearsal();
    drop(relay);
    let appliance = setup.start();
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    send(&ann, &["ben@example.com"]);
    appliance.cli_json(&["clock", "advance", "80000"]);
    assert!(undeliverable(&appliance, &workspace).is_empty());
    appliance.cli_json(&["clock", "advance", "10000"]);
    assert_eq!(undeliverable(&appliance, &workspace).len(), 1);
    assert_eq!(ann.inbox(0)[0]["direction"], "system");
    let mut doctor = crate::support::appliance::quintet();
    doctor.env("QUINTET_MESSAGING__DOMAIN", DOMAIN).env("QUINTET_MESSAGING__SMTP_RELAY", "127.0.0.1:1");
    let said = stdout(&doctor.args(["doctor", "--data"]).arg(appliance.data()).output().unwrap());
    assert!(said.contains("The relay cannot be used (not reached"), "{said}");
}

/// What the operator's name server says of the domain, and the relay of itself.
#[test]
fn doctor_tells_what_others_need() {
    let relay = Server::start("relay.py", &["fine"]);
    for (records, says) in [
        (
            &["mail.example MX mx.mail.example", "mail.example TXT v=spf1 -all"][..],
            ["goes to mx.mail.example", "who may send its mail"],
        ),
        (&[][..], ["has no MX record", "has no SPF record"]),
    ] {
        let names = Server::start("names.py", records);
        let mut doctor = crate::support::appliance::quintet();
        doctor.env("QUINTET_MESSAGING__DOMAIN", DOMAIN).env("QUINTET_MESSAGING__SMTP_LISTEN", "127.0.0.1:0");
        doctor.env("QUINTET_MESSAGING__SMTP_RELAY", relay.address());
        doctor.env("QUINTET_MESSAGING__SMTP_RESOLVER", names.address());
        let directory = tempfile::tempdir().unwrap();
        let said = stdout(&doctor.args(["doctor", "--data"]).arg(directory.path().join("data")).output().unwrap());
        assert!(said.contains("The relay answers"), "{said}");
        assert!(says.iter().all(|words| said.contains(words)), "{said}");
    }
}

#[test]
fn what_does_not_leave() {
    let relay = Server::start("relay.py", &["fine"]);
    let appliance = with_relay(&relay).start();
    let encrypted = Workspace::encrypted(&appliance);
    let ann = encrypted.agent("ann");
    refused(&ann.send_with(&["ben@example.com"], "x", json!({})), 422, "external_mail_refused");
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let foreign = open(&appliance);
    foreign.agent("bea");
    // Another workspace's agents are written to as others outside are, if they are there.
    refused(&ann.send_with(&[&address(&foreign, "nobody")], "x", json!({})), 422, "unknown_recipient");
    assert_eq!(ann.send(&[&address(&foreign, "bea")], "x")["external_count"], 1);
    workspace.limit("external_out_per_day=1");
    refused(&ann.send_with(&["ben@example.com"], "x", json!({})), 429, "quota_exceeded");
    let without = setup().start();
    let workspace = Workspace::open(&without);
    let ann = workspace.agent("ann");
    refused(&ann.send_with(&["ben@example.com"], "x", json!({})), 422, "external_mail_unavailable");
}
