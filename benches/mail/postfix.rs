//! Postfix beside it: an instance of its own, which delivers into a Maildir or hands on to a sink.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// An instance. It ends with this.
pub struct Postfix {
    directory: tempfile::TempDir,
    /// Where it listens, on all addresses.
    pub port: u16,
}

impl Drop for Postfix {
    fn drop(&mut self) {
        let _ = Command::new("postfix").arg("-c").arg(self.path("etc")).arg("abort").output();
    }
}

impl Postfix {
    /// One that hands all mail to this server, or puts it into a Maildir.
    pub fn start(next: Option<&str>) -> Postfix {
        let directory = tempfile::tempdir().unwrap();
        let port = free_port();
        let postfix = Postfix { directory, port };
        for name in ["etc", "queue", "data", "mail"] {
            std::fs::create_dir(postfix.path(name)).unwrap();
        }
        succeed(Command::new("chmod").arg("755").arg(postfix.directory.path()));
        succeed(Command::new("chown").arg("postfix").arg(postfix.path("data")));
        succeed(Command::new("chown").arg("nobody").arg(postfix.path("mail")));
        std::fs::write(postfix.path("etc/main.cf"), postfix.main_cf(next)).unwrap();
        std::fs::write(postfix.path("etc/master.cf"), master_cf(port)).unwrap();
        for name in ["dynamicmaps.cf", "postfix-files", "postfix-script", "post-install"] {
            let _ = std::fs::copy(format!("/etc/postfix/{name}"), postfix.path("etc").join(name));
        }
        succeed(Command::new("postfix").arg("-c").arg(postfix.path("etc")).arg("start"));
        while std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        postfix
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Waits until so many mails lie in the Maildir.
    pub fn wait_delivered(&self, count: usize) {
        let begun = Instant::now();
        while std::fs::read_dir(self.path("mail/new")).map_or(0, Iterator::count) < count {
            assert!(begun.elapsed() < Duration::from_secs(300), "Postfix does not deliver all of it");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn main_cf(&self, next: Option<&str>) -> String {
        let top = self.directory.path().display();
        let relay = next.map_or_else(String::new, |next| {
            let (host, port) = next.split_once(':').unwrap();
            format!("default_transport = smtp:[{host}]:{port}\n")
        });
        let local = match next {
            None => {
                "virtual_mailbox_domains = static:all\nvirtual_mailbox_maps = static:mail/\nvirtual_transport = virtual\n"
            }
            Some(_) => "",
        };
        format!(
            "compatibility_level = 3.6\nqueue_directory = {top}/queue\ndata_directory = {top}/data\nmaillog_file = {top}/log\n\
             maillog_file_prefixes = {top}\nmyhostname = postfix.example\nmydestination =\nmynetworks = 127.0.0.0/8, 10.99.0.0/24\n\
             inet_interfaces = all\ninet_protocols = ipv4\nalias_maps =\nlocal_transport = error:none\n{local}{relay}\
             virtual_mailbox_base = {top}\nvirtual_uid_maps = static:65534\nvirtual_gid_maps = static:65534\n\
             virtual_minimum_uid = 1\nsmtpd_relay_restrictions = permit_mynetworks, reject\nsmtpd_peername_lookup = no\n\
             smtp_dns_support_level = disabled\nsmtpd_client_connection_count_limit = 0\n"
        )
    }
}

/// Runs a command to its end, which must be a good one.
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A port that nobody has.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn master_cf(port: u16) -> String {
    format!(
        "{port} inet n - n - - smtpd\ncleanup unix n - n - 0 cleanup\nqmgr unix n - n 300 1 qmgr\n\
         rewrite unix - - n - - trivial-rewrite\nbounce unix - - n - 0 bounce\ndefer unix - - n - 0 bounce\n\
         trace unix - - n - 0 bounce\nproxymap unix - - n - - proxymap\nsmtp unix - - n - - smtp\nerror unix - - n - - error\n\
         retry unix - - n - - error\nvirtual unix - n n - - virtual\nanvil unix - - n - 1 anvil\n\
         scache unix - - n - 1 scache\npostlog unix-dgram n - n - 1 postlogd\n"
    )
}
