//! Random days: sends at all priorities, bursts into one thread, availability, resumes, retirement, reading, hours and days
//! that pass. After each step all inboxes, all that is held and all counts are those of the model, and `verify` is content.

use fastrand::Rng;

use super::model::{Item, Model, Waits};
use crate::agents::retire;
use crate::identity::{Availability, Priority, Standing, mailboxes};
use crate::mail::deliver::{self, after};
use crate::mail::messages;
use crate::mail::resume::{Resumer, resume};
use crate::mail::testing::{held_by, held_for};
use crate::mail::threads;
use crate::mail::unread::{first_unread, unread_after};
use crate::model::{AgentKey, MessageId, ThreadKey};
use crate::testing::Bench;

const STEPS: usize = 120;
const AGENTS: usize = 5;

struct Days {
    bench: Bench,
    model: Model,
    keys: Vec<AgentKey>,
    threads: Vec<ThreadKey>,
    labels: usize,
    log: Vec<String>,
}

fn name(agent: usize) -> String {
    format!("a{agent}")
}

pub(super) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn days_go_as_the_model_says() {
    let first = number("QUINTET_MESSAGING_SEED");
    let cases = number("QUINTET_MESSAGING_CASES").unwrap_or(6);
    for case in 0..if first.is_some() { 1 } else { cases } {
        let seed = first.unwrap_or_else(|| fastrand::u64(..1_000_000_000) + case);
        println!("QUINTET_MESSAGING_SEED={seed}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(days(seed));
    }
}

async fn days(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let mut bench = Bench::new();
    bench.set(|workspace| workspace.limits = vec![(crate::limits::MESSAGES_PER_DAY.code, None)]);
    let keys = (0..AGENTS).map(|agent| bench.agent(&name(agent))).collect();
    let (threads, log) = (Vec::new(), Vec::new());
    let mut days = Days { bench, model: Model::new(AGENTS), keys, threads, labels: 0, log };
    for _ in 0..STEPS {
        // They are all there, so that none retires by itself.
        let now = days.bench.now();
        for agent in &days.keys {
            let _ = days.bench.context.attendance.saw(*agent, "k", None, false, now);
        }
        days.step(&mut random).await;
        days.compare();
    }
}

impl Days {
    async fn step(&mut self, random: &mut Rng) {
        match random.u32(0..100) {
            0..35 => self.send(random),
            35..45 => self.burst(random),
            45..62 => self.declare(random),
            62..68 => self.resume(random),
            68..72 => self.retire(random),
            72..86 => self.read(random),
            _ => {
                let seconds = match random.u32(0..4) {
                    0 => random.i64(1..60),
                    1 => random.i64(60..3_600),
                    2 => random.i64(3_600..20_000),
                    _ => random.i64(20_000..200_000),
                };
                self.advance(seconds).await;
            }
        }
    }

    async fn advance(&mut self, seconds: i64) {
        self.log.push(format!("{seconds} seconds pass"));
        self.bench.advance(seconds.unsigned_abs()).await;
        self.model.advance(seconds);
    }

    fn send(&mut self, random: &mut Rng) {
        let from = random.usize(0..AGENTS);
        let active = |agent: &usize| !self.model.agents[*agent].is_retired;
        let to: Vec<usize> = (0..AGENTS).filter(active).filter(|_| random.bool()).collect();
        let talk = if self.threads.is_empty() || random.u32(0..3) == 0 {
            None
        } else {
            Some(random.usize(0..self.threads.len()))
        };
        let priority = Priority::ALL[random.usize(0..3)];
        self.post(from, &to, talk, priority);
    }

    fn post(&mut self, from: usize, to: &[usize], talk: Option<usize>, priority: Priority) {
        self.labels += 1;
        let label = format!("m{}", self.labels);
        self.log.push(format!("{label} of {from} to {to:?} in {talk:?}, {priority:?}"));
        let names: Vec<String> = to.iter().map(|agent| name(*agent)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let thread = talk.map(|talk| self.threads[talk].1);
        let posted = self.bench.post(&name(from), &names, &label, |letter| {
            letter.thread = thread;
            letter.priority = priority;
        });
        let number = self.model.send(from, to, talk, &label, priority);
        if number == self.threads.len() {
            self.threads.push((self.bench.workspace.no, posted.thread));
        }
        let talk = &self.model.talks[number];
        assert_eq!(posted.pause.is_some(), talk.pause.is_some(), "{}", self.told());
        assert_eq!(posted.pause.is_some_and(|pause| pause.is_for_operators), talk.pause.is_some_and(|(_, is)| is));
        let mut held: Vec<String> = posted.held.into_iter().map(|held| held.agent).collect();
        let is_held = |agent: &&usize| {
            let of = |waits: &Waits| waits.agent == **agent && waits.label == label;
            talk.held.iter().any(of) || self.model.agents[**agent].held.iter().any(of)
        };
        let mut expected: Vec<String> = to.iter().filter(is_held).map(|agent| name(*agent)).collect();
        held.sort();
        expected.sort();
        assert_eq!(held, expected, "{}", self.told());
    }

    /// Many messages into one thread, as agents do who answer each other.
    fn burst(&mut self, random: &mut Rng) {
        if self.threads.is_empty() {
            return self.send(random);
        }
        let talk = random.usize(0..self.threads.len());
        let from = random.usize(0..AGENTS);
        let to: Vec<usize> = (0..AGENTS).filter(|agent| !self.model.agents[*agent].is_retired).take(2).collect();
        for _ in 0..random.usize(10..45) {
            self.post(from, &to, Some(talk), Priority::ALL[random.usize(0..3)]);
        }
    }

    fn declare(&mut self, random: &mut Rng) {
        let agent = random.usize(0..AGENTS);
        let availability = Availability::ALL[random.usize(0..5)];
        let (hold_below, seconds) = (Priority::ALL[random.usize(0..3)], random.i64(1..86_400));
        self.log.push(format!("{agent} is {availability:?} below {hold_below:?} for {seconds}"));
        let (key, now) = (self.keys[agent], self.bench.now());
        let standing = match availability {
            Availability::Online => Standing::ONLINE,
            _ => Standing { availability, until: Some(now.plus_seconds(seconds)), reason: None, hold_below },
        };
        let released = self.bench.run(move |tx, now| Ok(deliver::declare(tx, now, key, standing)?)).unwrap();
        let before = self.model.agents[agent].inbox.len();
        self.model.declare(agent, availability, hold_below, seconds);
        assert_eq!(released as usize, self.model.agents[agent].inbox.len() - before, "{}", self.told());
    }

    fn resume(&mut self, random: &mut Rng) {
        let paused: Vec<usize> =
            (0..self.threads.len()).filter(|talk| self.model.talks[*talk].pause.is_some()).collect();
        let talk = match paused.is_empty() {
            true if self.threads.is_empty() => return,
            true => random.usize(0..self.threads.len()),
            false => paused[random.usize(0..paused.len())],
        };
        let is_participant = random.bool();
        let resumer = if is_participant { Resumer::Participant } else { Resumer::Operator };
        self.log.push(format!("{talk} goes on by {resumer:?}"));
        let key = self.threads[talk];
        let has = self.bench.run(move |tx, now| Ok(resume(tx, now, key, resumer)?)).unwrap();
        assert_eq!(has, self.model.talks[talk].pause.is_some(), "{}", self.told());
        self.model.resume(talk, is_participant);
    }

    fn retire(&mut self, random: &mut Rng) {
        let agent = random.usize(0..AGENTS);
        let key = self.keys[agent];
        self.log.push(format!("{agent} retires, or comes back"));
        if self.model.agents[agent].is_retired {
            assert_eq!(self.bench.agent(&name(agent)), key);
        } else {
            self.bench.run(move |tx, now| Ok(retire(tx, now, key)?)).unwrap();
        }
        self.model.agents[agent].is_retired ^= true;
    }

    fn read(&mut self, random: &mut Rng) {
        let agent = random.usize(0..AGENTS);
        let inbox = &mut self.model.agents[agent].inbox;
        if inbox.is_empty() {
            return;
        }
        for _ in 0..random.usize(1..12) {
            // Mostly in order, as readers do.
            let first = inbox.iter().position(|item| !item.is_read).unwrap_or(0);
            let place = if random.u32(0..3) > 0 { first } else { random.usize(0..inbox.len()) };
            let (key, seq) = (self.keys[agent], place as u64 + 1);
            let delivery = self.bench.run(move |tx, now| Ok(deliver::read(tx, now, key, seq)?)).unwrap();
            assert!(delivery.unwrap().read_at.is_some());
            inbox[place].is_read = true;
        }
    }

    fn told(&self) -> String {
        self.log.join("\n")
    }

    fn compare(&self) {
        let read = self.bench.context.store.read();
        for (agent, key) in self.keys.iter().enumerate() {
            let somebody = &self.model.agents[agent];
            let mailbox = mailboxes::get(&read, *key).unwrap();
            let inbox = after(&read, *key, 0, usize::MAX).unwrap();
            let places: Vec<u64> = inbox.iter().map(|(seq, _)| *seq).collect();
            assert_eq!(
                places,
                (1..=somebody.inbox.len() as u64).collect::<Vec<_>>(),
                "the inbox of {agent}\n{}",
                self.told()
            );
            let items: Vec<Item> = inbox
                .iter()
                .map(|(_, delivery)| Item {
                    label: self.label(&read, delivery.message),
                    is_read: delivery.read_at.is_some(),
                    released: delivery.released,
                })
                .collect();
            assert_eq!(items, somebody.inbox, "the inbox of {agent}\n{}", self.told());
            let unread: Vec<u64> =
                (1..).zip(&somebody.inbox).filter(|(_, item)| !item.is_read).map(|(seq, _)| seq).collect();
            assert_eq!(mailbox.unread_count as usize, unread.len(), "{}", self.told());
            assert_eq!(first_unread(&read, *key, &mailbox).unwrap(), unread.first().copied());
            for cursor in [0, 1, places.len() as u64 / 2, places.len() as u64] {
                let behind: Vec<u64> = unread.iter().copied().filter(|seq| *seq > cursor).collect();
                assert_eq!(unread_after(&read, *key, &mailbox, cursor, usize::MAX).unwrap(), behind);
                let few = unread_after(&read, *key, &mailbox, cursor, 3).unwrap();
                assert_eq!(few, behind.into_iter().take(3).collect::<Vec<_>>());
            }
            let of_agent: Vec<(String, Priority)> = held_for(&read, *key)
                .unwrap()
                .into_iter()
                .map(|(message, priority)| (self.label(&read, message), priority))
                .collect();
            let expected: Vec<(String, Priority)> =
                somebody.held.iter().map(|waits| (waits.label.clone(), waits.priority)).collect();
            assert_eq!(of_agent, expected, "held for {agent}\n{}", self.told());
            assert_eq!(mailbox.standing.availability, somebody.availability, "{}", self.told());
        }
        for (key, talk) in self.threads.iter().zip(&self.model.talks) {
            let thread = threads::find(&read, *key).unwrap().unwrap();
            let waits: Vec<(AgentKey, String)> = held_by(&read, *key)
                .unwrap()
                .into_iter()
                .map(|(agent, message)| ((key.0, agent), self.label(&read, message)))
                .collect();
            let expected: Vec<(AgentKey, String)> =
                talk.held.iter().map(|waits| (self.keys[waits.agent], waits.label.clone())).collect();
            assert_eq!(waits, expected, "held by {}\n{}", talk.number, self.told());
            assert_eq!((thread.pause.is_some(), thread.message_count), (talk.pause.is_some(), talk.messages));
        }
        assert_eq!(crate::verify(&read).unwrap(), Vec::<String>::new(), "{}", self.told());
    }

    /// What a message says is its name; of the platform's own words there is one kind.
    fn label(&self, read: &quintet_storage::Snapshot, message: MessageId) -> String {
        let found = messages::get(read, (self.bench.workspace.no, message)).unwrap();
        let contents = messages::open(read, &self.bench.workspace, message, &found.kept).unwrap();
        if contents.text.starts_with("More than 60") { "paused".to_owned() } else { contents.text }
    }
}
