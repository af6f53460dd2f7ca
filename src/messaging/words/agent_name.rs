//! The names of agents (I2).

use std::fmt;

use data_encoding::HEXLOWER;

use super::checkout::SessionKey;
use super::spelling::Spelling;

/// `[a-z0-9][a-z0-9._-]{0,63}`
const SPELLING: Spelling = Spelling { punctuation: "._-", chars_max: 64 };

/// A role leaves room for the hyphen and the suffix behind it.
const ROLE: Spelling = Spelling { punctuation: "._-", chars_max: 57 };

/// Names that no agent has: messages of the service itself come from the one, the other is an address that mail servers
/// expect.
const RESERVED: [&str; 2] = ["system", "postmaster"];

/// What an agent is called if nothing of what was asked for can be part of a name, and what is added to a reserved one.
const PLAIN: &str = "agent";

/// A name that an agent may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AgentName(String);

/// A text that is no agent's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameFault {
    /// It is not written as one.
    #[error("must have 1 to 64 of a-z, 0-9, \".\", \"_\", \"-\" and begin with a letter or digit; \"{nearest}\" does")]
    Spelling {
        /// The good name nearest to it.
        nearest: AgentName,
    },
    /// The service keeps it for itself.
    #[error("must be another, for the service keeps this one for itself; \"{nearest}\" is free to take")]
    Reserved {
        /// The good name nearest to it.
        nearest: AgentName,
    },
    /// A role that is not written as one, or is too long for a name.
    #[error("must have 1 to 57 of a-z, 0-9, \".\", \"_\", \"-\" and begin with a letter or digit; \"{nearest}\" does")]
    Role {
        /// The good role nearest to it.
        nearest: String,
    },
}

impl AgentName {
    /// Reads a name.
    ///
    /// # Errors
    /// It is none, and which one is nearest.
    pub(crate) fn parse(text: &str) -> Result<AgentName, NameFault> {
        if RESERVED.contains(&text) {
            return Err(NameFault::Reserved { nearest: AgentName(format!("{text}-{PLAIN}")) });
        }
        if !SPELLING.fits(text) {
            return Err(NameFault::Spelling { nearest: nearest(text) });
        }
        Ok(AgentName(text.to_owned()))
    }

    /// The name of a role in a checkout: `<role>-<suffix>`.
    ///
    /// # Errors
    /// The role cannot be part of a name.
    pub(crate) fn of_role(role: &str, checkout: &SessionKey) -> Result<AgentName, NameFault> {
        if !ROLE.fits(role) {
            let near = ROLE.nearest(role);
            return Err(NameFault::Role { nearest: if near.is_empty() { PLAIN.to_owned() } else { near } });
        }
        Ok(AgentName(format!("{role}-{}", checkout.suffix())))
    }

    /// A name for who says neither name nor checkout, made of random bytes. It may be taken.
    pub(crate) fn made(random: [u8; 3]) -> AgentName {
        AgentName(format!("{PLAIN}-{}", HEXLOWER.encode(&random)))
    }

    /// The name's text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn nearest(text: &str) -> AgentName {
    let near = SPELLING.nearest(text);
    if near.is_empty() {
        AgentName(PLAIN.to_owned())
    } else if RESERVED.contains(&near.as_str()) {
        AgentName(format!("{near}-{PLAIN}"))
    } else {
        AgentName(near)
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentName, NameFault, SessionKey};

    fn checkout() -> SessionKey {
        SessionKey::of(Some("device"), None, None).unwrap()
    }

    #[test]
    fn names() {
        for good in ["a", "7", "builder-c8239c", "a.b_c-d", "systems", "agent", &"x".repeat(64)] {
            assert_eq!(AgentName::parse(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn the_nearest_name_of_what_is_none() {
        let cases = [
            ("Builder", "builder"),
            ("my builder", "my-builder"),
            ("-x", "x"),
            ("room:x", "room-x"),
            ("skill:playwright=1", "skill-playwright-1"),
            ("bob@example.com", "bob-example.com"),
            ("", "agent"),
            ("_", "agent"),
            ("日本語", "agent"),
            ("SYSTEM", "system-agent"),
            (" postmaster ", "postmaster-agent"),
            (&"Y".repeat(70), &"y".repeat(64)),
        ];
        for (text, near) in cases {
            let nearest = AgentName(near.to_owned());
            assert_eq!(AgentName::parse(text), Err(NameFault::Spelling { nearest: nearest.clone() }), "{text:?}");
            assert_eq!(AgentName::parse(near), Ok(nearest), "the nearest name of {text:?} is one");
        }
    }

    #[test]
    fn what_the_service_keeps_for_itself() {
        for reserved in ["system", "postmaster"] {
            let Err(fault @ NameFault::Reserved { .. }) = AgentName::parse(reserved) else { panic!("{reserved}") };
            assert!(fault.to_string().contains(&format!("{reserved}-agent")), "{fault}");
        }
    }

    #[test]
    fn a_role_s_name_ends_with_its_checkout_s_suffix() {
        let name = AgentName::of_role("reviewer", &checkout()).unwrap();
        assert_eq!(name.as_str(), format!("reviewer-{}", checkout().suffix()));
        let longest = AgentName::of_role(&"r".repeat(57), &checkout()).unwrap();
        assert_eq!(AgentName::parse(longest.as_str()), Ok(longest));
    }

    #[test]
    fn a_role_that_fits_no_name() {
        for (role, near) in [("Code Review", "code-review"), ("", "agent"), (&"r".repeat(58), &"r".repeat(57))] {
            let fault = NameFault::Role { nearest: near.to_owned() };
            assert_eq!(AgentName::of_role(role, &checkout()), Err(fault), "{role:?}");
        }
    }

    #[test]
    fn a_made_name_is_a_name() {
        let made = AgentName::made([0, 0xab, 0xff]);
        assert_eq!(made.as_str(), "agent-00abff");
        assert_eq!(AgentName::parse(made.as_str()), Ok(made));
    }

    #[test]
    fn a_fault_says_which_name_is_good() {
        let fault = AgentName::parse("My Agent").unwrap_err();
        assert!(fault.to_string().ends_with("\"my-agent\" does"), "{fault}");
    }
}
