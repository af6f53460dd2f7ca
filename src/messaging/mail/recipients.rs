//! Whom a message goes to: what was typed, looked up in one pass (6-messaging.md, T1 to T6).
//!
//! Refused in this order: what is written as no recipient, more than there may be, names, rooms and addresses that nobody
//! has together with tags that nobody wears, tags alone, and those who have blocked the sender.

use quintet_platform::service::Problem;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::ingress;
use super::model::{Addressee, Role};
use crate::identity::{Mailbox, Status, Workspace, agents, mailboxes, workspaces};
use crate::limits::RECIPIENTS_PER_MESSAGE;
use crate::model::{AgentNo, WorkspaceNo};
use crate::refusal::{Bad, Refusal};
use crate::tagged::wearers;
use crate::words::address::Mailbox as Address;
use crate::words::agent_name::AgentName;
use crate::words::recipient::Recipient;
use crate::words::tag::TagExpression;
use crate::{blocks, rooms};

/// So many entries that are no recipients are told where there are more than there may be.
const PROBLEMS_MAX: usize = 100;

/// Who addresses somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// Where.
    pub(crate) workspace: &'a Workspace,
    /// The agent, if one acts.
    pub(crate) agent: Option<AgentNo>,
    /// What agents' addresses end with.
    pub(crate) domain: &'a str,
    /// Whether anything here listens for mail from outside.
    pub(crate) listens: bool,
}

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    /// Recipients.
    pub(crate) to: Vec<String>,
    /// Those who are to know of it.
    pub(crate) cc: Vec<String>,
}

/// Who that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Agents, each once, as a recipient rather than as one who is to know of it.
    pub(crate) agents: Vec<Addressee>,
    /// Addresses outside, each once.
    pub(crate) outside: Vec<(String, Role)>,
    /// Rooms, each once.
    pub(crate) rooms: Vec<String>,
}

impl Typed {
    /// How much was typed.
    pub(crate) fn count(&self) -> u64 {
        (self.to.len() as u64).saturating_add(self.cc.len() as u64)
    }
}

/// Reads what was typed, by its form alone.
///
/// # Errors
/// Every entry that is written as no recipient, as long as there are no more than there may be; or there are more than
/// there may be, `count` of them.
fn read<'t>(asker: Asker<'_>, typed: &'t Typed, count: u64) -> Result<Vec<(&'t str, Recipient<'t>, Role)>, Refusal> {
    if typed.to.is_empty() && typed.cc.is_empty() {
        return Err(Refusal::field("to", "must name at least one recipient"));
    }
    let most = asker.workspace.limit(RECIPIENTS_PER_MESSAGE);
    // Of more than there may be it is no help to be told each.
    let (is_too_many, mut entries, mut problems) = (count > most, Vec::new(), Vec::new());
    let of =
        |list: &'static str, all: &'t [String]| all.iter().enumerate().map(move |(place, text)| (list, place, text));
    for (list, place, text) in of("to", &typed.to).chain(of("cc", &typed.cc)) {
        match Recipient::parse(text) {
            Ok(_) if is_too_many => {}
            Ok(recipient) => entries.push((text.as_str(), recipient, if list == "to" { Role::To } else { Role::Cc })),
            Err(fault) => problems.push(Problem::new(format!("{list}[{place}]"), fault.to_string())),
        }
        if is_too_many && problems.len() == PROBLEMS_MAX {
            break;
        }
    }
    if !problems.is_empty() {
        return Err(Refusal::Invalid(problems));
    }
    if is_too_many { Err(Refusal::TooManyRecipients(most)) } else { Ok(entries) }
}

/// Finds everybody.
///
/// # Errors
/// The first that is wrong, in the order that the module says; nothing is counted.
pub(crate) fn resolve(
    read: &impl Read,
    now: Timestamp,
    asker: Asker<'_>,
    typed: &Typed,
) -> Result<Resolved, Abort<Refusal>> {
    resolve_as(read, now, asker, typed, typed.count())
}

/// The same of what stands for so many typed entries.
pub(crate) fn resolve_as(
    read: &impl Read,
    now: Timestamp,
    asker: Asker<'_>,
    typed: &Typed,
    count: u64,
) -> Result<Resolved, Abort<Refusal>> {
    let entries = self::read(asker, typed, count)?;
    let blockers = match asker.agent {
        Some(agent) => blocks::blockers_of(read, (asker.workspace.no, agent), now)?,
        None => Vec::new(),
    };
    let (found, faults) = (Resolved::default(), Faults::default());
    let mut search = Search { read, now, asker, blockers, found, seen: Vec::new(), faults };
    for (text, recipient, role) in entries {
        search.look_up(text, recipient, role)?;
    }
    search.faults.first().map_or(Ok(search.found), |refusal| Err(refusal.into()))
}

/// What was typed that is wrong, each with why.
#[derive(Default)]
struct Faults {
    /// Names, rooms and addresses that nobody has, and unmatched tags among them.
    all: Vec<Bad>,
    unknown: usize,
    blocked: Vec<Bad>,
}

impl Faults {
    fn first(&mut self) -> Option<Refusal> {
        if self.unknown > 0 {
            return Some(Refusal::UnknownRecipient(std::mem::take(&mut self.all)));
        }
        if !self.all.is_empty() {
            return Some(Refusal::UnmatchedCapability(std::mem::take(&mut self.all)));
        }
        if self.blocked.is_empty() { None } else { Some(Refusal::Blocked(std::mem::take(&mut self.blocked))) }
    }
}

struct Search<'a, R> {
    read: &'a R,
    now: Timestamp,
    asker: Asker<'a>,
    blockers: Vec<AgentNo>,
    found: Resolved,
    /// The agents that are found, in the order of their numbers.
    seen: Vec<AgentNo>,
    faults: Faults,
}

impl<R: Read> Search<'_, R> {
    fn look_up(&mut self, text: &str, recipient: Recipient<'_>, role: Role) -> Result<(), Failure> {
        match recipient {
            Recipient::Agent(name) => self.look_up_agent(text, name, role, "no agent has this name"),
            Recipient::Room(room) => self.look_up_room(text, room, role),
            Recipient::Tag(tag) => self.look_up_tag(text, tag, role),
            Recipient::Address(address) => self.look_up_address(text, address, role),
        }
    }

    fn look_up_agent(&mut self, text: &str, name: &str, role: Role, nobody: &str) -> Result<(), Failure> {
        match agent_named(self.read, self.workspace(), name)? {
            None => self.is_unknown(text, nobody),
            Some((no, _)) if self.blockers.contains(&no) => {
                self.faults.blocked.push(bad(text, "has blocked the sender"));
            }
            Some((no, mailbox)) => self.add(no, role, mailbox),
        }
        Ok(())
    }

    fn look_up_room(&mut self, text: &str, room: &str, role: Role) -> Result<(), Failure> {
        let Some(members) = rooms::find(self.read, self.workspace(), room)? else {
            self.is_unknown(text, "there is no such room");
            return Ok(());
        };
        if !self.found.rooms.iter().any(|known| known == room) {
            self.found.rooms.push(room.to_owned());
        }
        self.found.agents.reserve(members.len());
        for no in members {
            let is_left_out = Some(no) == self.asker.agent || self.blockers.contains(&no);
            if is_left_out || self.seen.binary_search(&no).is_ok() {
                continue;
            }
            let mailbox = mailboxes::get(self.read, (self.workspace(), no))?;
            if !mailbox.is_retired {
                self.add(no, role, mailbox);
            }
        }
        Ok(())
    }

    fn look_up_tag(&mut self, text: &str, tag: TagExpression<'_>, role: Role) -> Result<(), Failure> {
        let wearers = wearers(self.read, self.workspace(), &[tag], self.asker.agent, self.now)?;
        if wearers.is_empty() {
            self.faults.all.push(bad(text, "no active agent wears this tag"));
        }
        for (no, mailbox) in wearers {
            self.add(no, role, mailbox);
        }
        Ok(())
    }

    fn look_up_address(&mut self, text: &str, address: &str, role: Role) -> Result<(), Failure> {
        const NOBODY: &str = "nobody has this address";
        let is_own = address.rsplit_once('@').is_some_and(|(_, of)| of.eq_ignore_ascii_case(self.asker.domain));
        let own = Address::read(address, self.asker.domain).filter(|own| own.bounce_of.is_none());
        match own {
            Some(own) if own.workspace == self.asker.workspace.slug => {
                return self.look_up_agent(text, own.agent.as_str(), role, NOBODY);
            }
            Some(own) if !takes_mail(self.read, &own, self.asker.listens)? => self.is_unknown(text, NOBODY),
            None if is_own => self.is_unknown(text, NOBODY),
            _ => {
                if !self.found.outside.iter().any(|(known, _)| known == address) {
                    self.found.outside.push((address.to_owned(), role));
                }
            }
        }
        Ok(())
    }

    /// Adds an agent, unless it is there already.
    fn add(&mut self, no: AgentNo, role: Role, mailbox: Mailbox) {
        if let Err(place) = self.seen.binary_search(&no) {
            self.seen.insert(place, no);
            self.found.agents.push(Addressee { no, role, mailbox });
        }
    }

    fn is_unknown(&mut self, text: &str, why: &str) {
        self.faults.unknown += 1;
        self.faults.all.push(bad(text, why));
    }

    fn workspace(&self) -> WorkspaceNo {
        self.asker.workspace.no
    }
}

fn bad(text: &str, why: &str) -> Bad {
    Bad { at: text.to_owned(), message: why.to_owned() }
}

/// The agent of this name that is not retired.
pub(crate) fn agent_named(
    read: &impl Read,
    workspace: WorkspaceNo,
    name: &str,
) -> Result<Option<(AgentNo, Mailbox)>, Failure> {
    if AgentName::parse(name).is_err() {
        return Ok(None);
    }
    let Some(no) = agents::by_name(read, workspace, name)? else { return Ok(None) };
    let mailbox = mailboxes::get(read, (workspace, no))?;
    Ok(if mailbox.is_retired { None } else { Some((no, mailbox)) })
}

/// Whether an agent of another workspace takes mail from outside. Where nobody does, nothing is told of who is there.
fn takes_mail(read: &impl Read, address: &Address, listens: bool) -> Result<bool, Failure> {
    let Some(workspace) = workspaces::by_slug(read, &address.workspace)? else { return Ok(false) };
    let is_open =
        workspaces::status(read, &workspace)? == Status::Active && ingress::refusal(&workspace, listens).is_none();
    Ok(is_open && agent_named(read, workspace.no, address.agent.as_str())?.is_some())
}

/// Counts a message that was refused for blocks, at each of those who have them.
pub(crate) fn count_blocked(tx: &mut WriteTx<'_>, asker: Asker<'_>, refused: &[Bad]) -> Result<(), Failure> {
    let Some(sender) = asker.agent else { return Ok(()) };
    let mut counted: Vec<AgentNo> = Vec::new();
    for Bad { at, .. } in refused {
        let address = Address::read(at, asker.domain);
        let name = address.as_ref().map_or(at.as_str(), |address| address.agent.as_str());
        let Some((no, _)) = agent_named(tx, asker.workspace.no, name)? else { continue };
        if !counted.contains(&no) {
            counted.push(no);
            blocks::count_suppressed(tx, (asker.workspace.no, no), sender)?;
        }
    }
    Ok(())
}
