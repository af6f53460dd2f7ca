//! Mail with Postfix, both ways: it sends to the appliance, and is the relay that mail leaves by. Its instance is the test's
//! own, with a directory of its own; it needs root, which Postfix's master must be.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::appliance::{Appliance, Setup, say_skipped, stderr, stdout};
use crate::support::messaging::Workspace;

/// What agents' addresses end with.
const DOMAIN: &str = "mail.example";

/// An instance of Postfix. It ends with this.
struct Postfix {
    directory: tempfile::TempDir,
    port: u16,
}

impl Postfix {
    /// One that listens at a free port of the loopback, and hands mail for agents' domain to `next`, if there is one; all
    /// other mail it puts into a Maildir.
    fn start(next: Option<&str>) -> Option<Postfix> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !Path::new("/usr/sbin/postfix").exists() {
            say_skipped("this needs root, and Postfix (packaging/prerequisites.sh test)");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let (etc, queue) = (directory.path().join("etc"), directory.path().join("queue"));
        for path in [&etc, &queue, &directory.path().join("data"), &directory.path().join("mail")] {
            std::fs::create_dir(path).unwrap();
        }
        // Its own users must find the way.
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().unwrap();
            assert!(output.status.success(), "{program} {arguments:?}: {}{}", stdout(&output), stderr(&output));
        };
        let top = directory.path().to_str().unwrap();
        run("chmod", &["755", top]);
        run("chown", &["postfix", &format!("{top}/data")]);
        run("chown", &["-R", "nobody", &format!("{top}/mail")]);
        let port = free_port();
        let transport =
            next.map_or_else(String::new, |next| format!("{DOMAIN} smtp:[{}]:{}\n", host(next), port_of(next)));
        std::fs::write(etc.join("transport"), transport).unwrap();
        std::fs::write(etc.join("main.cf"), main_cf(top)).unwrap();
        std::fs::write(etc.join("master.cf"), master_cf(port)).unwrap();
        for name in ["dynamicmaps.cf", "postfix-files", "postfix-script", "post-install"] {
            let _ = std::fs::copy(format!("/etc/postfix/{name}"), etc.join(name));
        }
        run("postfix", &["-c", etc.to_str().unwrap(), "start"]);
        let postfix = Postfix { directory, port };
        postfix.until("it listens", || std::net::TcpListener::bind(("127.0.0.1", port)).is_err());
        Some(postfix)
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn etc(&self) -> PathBuf {
        self.directory.path().join("etc")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// What it has delivered.
    fn mails(&self) -> Vec<String> {
        let Ok(found) = std::fs::read_dir(self.directory.path().join("mail/new")) else { return Vec::new() };
        found.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
    }

    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        let _ = Command::new("postfix").arg("-c").arg(self.etc()).arg("abort").output();
    }
}

fn host(address: &str) -> &str {
    address.split(':').next().unwrap()
}

fn port_of(address: &str) -> &str {
    address.split(':').nth(1).unwrap()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn main_cf(top: &str) -> String {
    format!(
        "compatibility_level = 3.6\nqueue_directory = {top}/queue\ndata_directory = {top}/data\nmaillog_file = {top}/log\n\
         maillog_file_prefixes = {top}\nmyhostname = postfix.example\nmydestination =\nmynetworks = 127.0.0.0/8\n\
         inet_interfaces = 127.0.0.1\ninet_protocols = ipv4\nalias_maps =\nlocal_transport = error:none\n\
         transport_maps = texthash:{top}/etc/transport\nvirtual_mailbox_domains = static:all\n\
         virtual_mailbox_base = {top}\nvirtual_mailbox_maps = static:mail/\nvirtual_uid_maps = static:65534\n\
         virtual_gid_maps = static:65534\nvirtual_minimum_uid = 1\nsmtpd_relay_restrictions = permit_mynetworks, reject\n\
         virtual_transport = virtual\nminimal_backoff_time = 1s\nqueue_run_delay = 1s\nsmtp_tls_security_level = may\n\
         smtpd_peername_lookup = no\nsmtp_dns_support_level = disabled\n"
    )
}

fn master_cf(port: u16) -> String {
    format!(
        "127.0.0.1:{port} inet n - n - - smtpd\npickup unix n - n 60 1 pickup\ncleanup unix n - n - 0 cleanup\n\
         qmgr unix n - n 300 1 qmgr\nrewrite unix - - n - - trivial-rewrite\nbounce unix - - n - 0 bounce\n\
         defer unix - - n - 0 bounce\ntrace unix - - n - 0 bounce\nverify unix - - n - 1 verify\n\
         proxymap unix - - n - - proxymap\nsmtp unix - - n - - smtp\nerror unix - - n - - error\nretry unix - - n - - error\n\
         discard unix - - n - - discard\nvirtual unix - n n - - virtual\nanvil unix - - n - 1 anvil\n\
         scache unix - - n - 1 scache\npostlog unix-dgram n - n - 1 postlogd\n"
    )
}

fn open(appliance: &Appliance) -> Workspace<'_> {
    let workspace = Workspace::open(appliance);
    appliance.cli_json(&["messaging", "workspace", "ingress", &workspace.slug, "open"]);
    workspace
}

/// Hands a mail to Postfix.
fn hand(postfix: &Postfix, to: &[&str], subject: &str) {
    let program = "import smtplib, sys\nwith smtplib.SMTP('127.0.0.1', int(sys.argv[1])) as s:\n \
                   s.sendmail('ben@example.com', sys.argv[3:], f'From: ben@example.com\\r\\nSubject: {sys.argv[2]}\\r\\n\\r\\n.dot\\r\\nHi\\r\\n')\n";
    let port = postfix.port.to_string();
    let output = Command::new("python3").args(["-c", program, &port, subject]).args(to).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn postfix_sends_here_and_hears_of_what_is_refused() {
    let appliance = Setup::new()
        .env("QUINTET_MESSAGING__DOMAIN", DOMAIN)
        .env("QUINTET_MESSAGING__SMTP_LISTEN", "127.0.0.1:0")
        .start();
    let Some(postfix) = Postfix::start(Some(appliance.address("smtp"))) else { return };
    let workspace = open(&appliance);
    let (ann, bea) = (workspace.agent("ann"), workspace.agent("bea"));
    let address = |agent: &str| format!("agentbus+{}.{agent}@{DOMAIN}", workspace.slug);
    hand(&postfix, &[&address("ann"), &address("bea"), &address("nobody")], "from Postfix");
    postfix.until("both have it", || !ann.inbox(0).is_empty() && !bea.inbox(0).is_empty());
    let row = &ann.inbox(0)[0];
    assert_eq!((&row["subject"], &row["sender_address"]), (&json!("from Postfix"), &json!("ben@example.com")));
    assert_eq!(row["message_id"], bea.inbox(0)[0]["message_id"], "one message for both");
    let path = format!("/v1/deliveries/{}", row["delivery_id"].as_str().unwrap());
    assert_eq!(ann.client.get(&path).expect(200)["text_body"], ".dot\nHi\n");
    // Its sender hears from Postfix who it did not reach.
    postfix.until("the report is delivered", || postfix.mails().iter().any(|mail| mail.contains("5.1.1")));
}

#[test]
fn postfix_hands_on_what_leaves_and_reports_come_back() {
    let setup =
        Setup::new().env("QUINTET_MESSAGING__DOMAIN", DOMAIN).env("QUINTET_MESSAGING__SMTP_LISTEN", "127.0.0.1:0");
    // Each must know the other's port: the relay's is known first, and is told where reports go when the appliance runs.
    let Some(postfix) = Postfix::start(None) else { return };
    let appliance = setup.env("QUINTET_MESSAGING__SMTP_RELAY", &postfix.address()).start();
    let smtp = appliance.address("smtp");
    let transport =
        format!("{DOMAIN} smtp:[{}]:{}\nbounce.example error:5.1.1 no such user there\n", host(smtp), port_of(smtp));
    std::fs::write(postfix.etc().join("transport"), transport).unwrap();
    let output = Command::new("postfix").arg("-c").arg(postfix.etc()).arg("reload").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let workspace = open(&appliance);
    let ann = workspace.agent("ann");
    let file = json!({"filename": "dots.txt", "content_type": "text/plain", "content_base64": "Li4NCi4NCg=="});
    let sent = ann.send_with(&["ben@example.com"], ".\n..dots\n", json!({"subject": "Grüße", "attachments": [file]}));
    let id = sent.expect(202)["id"].as_str().unwrap().to_owned();
    postfix.until("it is delivered", || !postfix.mails().is_empty());
    let mail = postfix.mails().remove(0);
    assert!(mail.contains(&format!("Message-ID: <{id}@{DOMAIN}>")) && mail.contains("\n..dots\n"), "{mail}");
    assert!(mail.contains("\n.\n"), "{mail}");
    let sent = ann.send_with(&["nobody@bounce.example"], "x", json!({"subject": "lost"})).expect(202);
    postfix.until("the report is told", || ann.inbox(0).iter().any(|row| row["thread_id"] == sent["thread_id"]));
    let rows = ann.inbox(0);
    assert_eq!((rows.len(), &rows[0]["subject"]), (1, &json!("Not delivered: lost")));
    let told = workspace.admin.get("/v1/admin/undeliverable").expect(200);
    assert_eq!(told["undeliverable"][0]["recipient"], "nobody@bounce.example");
    assert!(appliance.cli(&["verify"]).status.success());
}
