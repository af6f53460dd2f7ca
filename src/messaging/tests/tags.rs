//! Random tags over random workspaces: the phonebook, whom a message goes to, and a model that knows no index agree, as
//! agents are relabelled, hidden, retired and revived, and block each other for a while.

use fastrand::Rng;
use quintet_storage::{Abort, Timestamp};

use super::days::number;
use crate::agents::phonebook::{Wanted, listed};
use crate::agents::{Registration, register, retire};
use crate::blocks::{self, Block};
use crate::identity::{Key, Scope, Workspace};
use crate::mail::recipients::{Asker, Typed, resolve};
use crate::model::AgentNo;
use crate::refusal::Refusal;
use crate::testing::{Bench, DOMAIN, nobody};
use crate::words::agent_name::AgentName;
use crate::words::tag::TagExpression;

/// Expressions in all, in so many workspaces, of which each changes so often.
const EXPRESSIONS: u64 = 100_000;
const WORKSPACES: u64 = 100;
const ROUNDS: u64 = 20;
const AGENTS: usize = 9;
const KEYS: [&str; 6] = ["skill", "skill:a", "skill:a:b", "a", "a.b", "zone"];
const VALUES: [&str; 7] = ["", "a", "a:b", "a=b", "=", "b c", "\u{fc}"];

/// An agent as the model knows it.
#[derive(Clone, Debug, Default)]
struct Somebody {
    labels: Vec<(&'static str, &'static str)>,
    is_unlisted: bool,
    is_retired: bool,
    /// Whom it blocks, and until when.
    blocks: Vec<(usize, Option<Timestamp>)>,
}

/// What is asked for: keys, each with a value or with any.
type Expressions = Vec<(&'static str, Option<&'static str>)>;

fn name(agent: usize) -> String {
    format!("a{agent}")
}

fn pick(rng: &mut Rng, from: &[&'static str]) -> &'static str {
    from[rng.usize(..from.len())]
}

/// Those whom all of the expressions mean, one agent and one rule after the other.
fn meant(all: &[Somebody], asked: &Expressions, asking: Option<usize>, now: Timestamp) -> Vec<String> {
    let wears = |somebody: &Somebody, key: &str, value: Option<&str>| {
        somebody.labels.iter().any(|(worn, with)| *worn == key && value.is_none_or(|value| value == *with))
    };
    let blocks = |somebody: &Somebody| {
        let blocks =
            |(blocked, until): &(usize, Option<Timestamp>)| Some(*blocked) == asking && until.is_none_or(|at| now < at);
        somebody.blocks.iter().any(blocks)
    };
    let is_meant = |somebody: &Somebody| {
        !somebody.is_retired
            && !somebody.is_unlisted
            && !blocks(somebody)
            && asked.iter().all(|(key, value)| wears(somebody, key, *value))
    };
    let mut names: Vec<String> =
        all.iter().enumerate().filter(|(_, one)| is_meant(one)).map(|(no, _)| name(no)).collect();
    names.sort();
    names
}

struct Case {
    workspace: Workspace,
    numbers: Vec<AgentNo>,
    all: Vec<Somebody>,
}

/// A registration of what the model says, which only adds labels.
fn registration(agent: usize, somebody: &Somebody) -> Registration {
    Registration {
        name: Some(AgentName::parse(&name(agent)).unwrap()),
        labels: somebody.labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        is_unlisted: Some(somebody.is_unlisted),
        ..nobody()
    }
}

impl Case {
    fn new(bench: &Bench, rng: &mut Rng, number: u64) -> Case {
        let workspace = bench.another(&format!("w{number}"));
        let mut case = Case { workspace, numbers: Vec::new(), all: Vec::new() };
        for agent in 0..AGENTS {
            case.all.push(Somebody { is_unlisted: rng.u8(..5) == 0, ..Somebody::default() });
            let labels = rng.usize(..5);
            (0..labels).for_each(|_| case.wear(rng, agent));
            let no = case.register(bench, agent);
            case.numbers.push(no);
        }
        case
    }

    fn wear(&mut self, rng: &mut Rng, agent: usize) {
        let (key, value) = (pick(rng, &KEYS), pick(rng, &VALUES));
        let labels = &mut self.all[agent].labels;
        labels.retain(|(worn, _)| *worn != key);
        labels.push((key, value));
    }

    /// Registers an agent as the model has it, which revives it.
    fn register(&mut self, bench: &Bench, agent: usize) -> AgentNo {
        self.all[agent].is_retired = false;
        let (workspace, registration) = (self.workspace.clone(), registration(agent, &self.all[agent]));
        let key = Key {
            id: String::new(),
            workspace: workspace.no,
            scope: Scope::Admin,
            agents: Vec::new(),
            label: String::new(),
            created_at: bench.now(),
            revoked_at: None,
        };
        bench.run(move |tx, now| register(tx, now, &workspace, &key, &registration)).unwrap().no
    }

    /// Something changes.
    fn change(&mut self, bench: &Bench, rng: &mut Rng) {
        let agent = rng.usize(..AGENTS);
        let (no, workspace) = (self.numbers[agent], self.workspace.no);
        match rng.u8(..5) {
            0 => {
                self.wear(rng, agent);
                self.register(bench, agent);
            }
            1 => {
                self.all[agent].is_unlisted ^= true;
                self.register(bench, agent);
            }
            2 => {
                self.all[agent].is_retired = true;
                bench.run(move |tx, now| Ok(retire(tx, now, (workspace, no))?)).unwrap();
            }
            3 => {
                let removed = self.all[agent].labels.pop().map(|(key, _)| key.to_owned());
                let given = self.workspace.clone();
                bench
                    .run(move |tx, _| crate::agents::relabel(tx, &given, no, &[], &Vec::from_iter(removed)).map(drop))
                    .unwrap();
            }
            _ => {
                let other = rng.usize(..AGENTS);
                let until = [None, Some(bench.now()), Some(bench.now().plus_seconds(9))][rng.usize(..3)];
                self.all[agent].blocks.retain(|(blocked, _)| *blocked != other);
                self.all[agent].blocks.push((other, until));
                let block = Block { reason: None, expires_at: until, created_at: bench.now(), suppressed_count: 0 };
                let blocked = self.numbers[other];
                bench.run(move |tx, _| Ok(blocks::put(tx, (workspace, no), blocked, block)?)).unwrap();
            }
        }
    }

    /// Asks for random tags at an instant, which may lie behind that of the last change.
    fn ask(&self, bench: &Bench, rng: &mut Rng, times: u64) {
        let read = bench.context.store.read();
        for _ in 0..times {
            let now = bench.now().plus_seconds([0, 8, 9][rng.usize(..3)]);
            let asking = if rng.u8(..6) == 0 { None } else { Some(rng.usize(..AGENTS)) };
            let count = if rng.u8(..4) == 0 { 2 + rng.usize(..2) } else { 1 };
            let asked: Expressions = (0..count)
                .map(|_| {
                    let key = if rng.u8(..9) == 0 { "Nobody's" } else { pick(rng, &KEYS) };
                    (key, if rng.bool() { Some(pick(rng, &VALUES)) } else { None })
                })
                .collect();
            let texts: Vec<String> = asked
                .iter()
                .map(|(key, value)| value.map_or_else(|| (*key).to_owned(), |value| format!("{key}={value}")))
                .collect();
            let expected = meant(&self.all, &asked, asking, now);
            let agent = asking.map(|asking| self.numbers[asking]);
            let tags: Vec<TagExpression<'_>> = texts.iter().map(|text| TagExpression::parse(text).unwrap()).collect();
            let shown = listed(&read, self.workspace.no, &tags, &Wanted::default(), agent, now).unwrap();
            let shown: Vec<&str> = shown.iter().map(|(_, agent)| agent.name.as_str()).collect();
            assert_eq!(shown, expected, "{texts:?} of {asking:?}: {:?}", self.all);
            if let [text] = texts.as_slice() {
                let asker = Asker { workspace: &self.workspace, agent, domain: DOMAIN, listens: false };
                let typed = Typed { to: vec![format!("tag:{text}")], cc: Vec::new() };
                match resolve(&read, now, asker, &typed) {
                    Ok(resolved) => {
                        let mut names: Vec<&str> =
                            resolved.agents.iter().map(|one| one.mailbox.name.as_str()).collect();
                        names.sort_unstable();
                        assert_eq!(names, expected, "{text} of {asking:?}: {:?}", self.all);
                    }
                    Err(Abort::Refused(Refusal::UnmatchedCapability(_))) => assert!(expected.is_empty(), "{text}"),
                    Err(other) => panic!("{text}: {other:?}"),
                }
            }
        }
    }
}

/// What 6-messaging.md wants it to reach: `delivery_count` is the phonebook's count in 100,000 random cases.
#[test]
fn as_many_get_a_message_as_the_phonebook_shows() {
    let seed = number("QUINTET_MESSAGING_SEED").unwrap_or(7);
    let mut rng = Rng::with_seed(seed);
    println!("QUINTET_MESSAGING_SEED={seed}");
    let bench = Bench::new();
    for workspace in 0..WORKSPACES {
        let mut case = Case::new(&bench, &mut rng, workspace);
        for _ in 0..ROUNDS {
            case.ask(&bench, &mut rng, EXPRESSIONS / WORKSPACES / ROUNDS);
            case.change(&bench, &mut rng);
        }
    }
    assert!(crate::verify(&bench.context.store.read()).unwrap().is_empty());
}
