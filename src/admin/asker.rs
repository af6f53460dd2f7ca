//! Who asks on the administration socket, as the kernel knows him: what is recorded of somebody does not rest on what he
//! says of himself.

use std::io;

use tokio::net::UnixStream;

/// The user of the process at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asker {
    /// His number.
    pub(super) uid: u32,
}

impl Asker {
    /// Who is at the other end.
    ///
    /// # Errors
    /// The kernel does not say.
    pub(super) fn of(stream: &UnixStream) -> io::Result<Asker> {
        Ok(Asker { uid: stream.peer_cred()?.uid() })
    }

    /// Whoever runs this process.
    pub(super) fn own() -> Asker {
        Asker { uid: rustix::process::geteuid().as_raw() }
    }

    /// Whether he may ask: root, and whoever runs the appliance.
    pub(super) fn is_allowed(self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }

    /// The name that he logs in with; his number, where the system has none.
    pub(super) fn login(self) -> String {
        login_of(self.uid, &std::fs::read_to_string("/etc/passwd").unwrap_or_default())
    }
}

/// The name of a user in the system's list (passwd(5)).
fn login_of(uid: u32, users: &str) -> String {
    let own = uid.to_string();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next()?, fields.nth(1)?);
        (uid == own && !name.is_empty()).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("uid {uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_name_or_a_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(login_of(0, users), "root");
        assert_eq!(login_of(1_000, users), "ann");
        assert_eq!((login_of(1_001, users), login_of(0, "")), ("uid 1001".to_owned(), "uid 0".to_owned()));
    }
}
