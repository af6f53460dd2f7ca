//! Random lives of approvals and guarded uses: agents raise and ask again, people decide at the command line and on pages,
//! time runs out, verbs fail after all that they did. After each step everything stands as a naive model says: nothing is
//! approved without a recorded act, no approval has two verdicts, and none allows a second use.
//!
//! `QUINTET_MESSAGING_RUNS=N` makes more lives.

use std::collections::BTreeMap;

use fastrand::Rng;
use quintet_platform::json::{Json, Limits, parse};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::days::number;
use crate::approvals::action::Matter;
use crate::approvals::decide::{decide, decide_on_page};
use crate::approvals::links::{self, Token};
use crate::approvals::model::{Act, Choice, How, Person, Status};
use crate::approvals::{NewApproval, raise, rows};
use crate::guard::model::Use;
use crate::guard::{Asked, check, file, rows as guard_rows};
use crate::identity::{Attestation, mailboxes};
use crate::model::{AgentKey, ApprovalId, ApprovalKey};
use crate::refusal::Refusal;
use crate::testing::Bench;

const STEPS: usize = 14;
const AGENTS: usize = 2;

/// What the model knows of an approval.
#[derive(Clone, Debug)]
struct Known {
    expires_at: i64,
    verdict: Option<(Status, i64)>,
    /// Who said so, where somebody did.
    by: Option<String>,
    agent: usize,
    use_of: Option<usize>,
    is_used: bool,
    links: Vec<String>,
}

struct Life {
    bench: Bench,
    agents: Vec<AgentKey>,
    model: BTreeMap<ApprovalId, Known>,
    now: i64,
    messages: u64,
    log: Vec<String>,
}

#[test]
fn approvals_live_as_the_model_says() {
    let first = number("QUINTET_MESSAGING_SEED");
    let lives = number("QUINTET_MESSAGING_RUNS").unwrap_or(60);
    let begins = first.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut life = Life::new();
    for (run, seed) in (0..if first.is_some() { 1 } else { lives }).zip(begins..) {
        // A store has many lives, but not all that there are.
        if run % 1_000 == 999 {
            assert_eq!(crate::verify(&life.bench.context.store.read()).unwrap(), [""; 0]);
            life = Life::new();
        }
        let mut random = Rng::with_seed(seed);
        runtime.block_on(life.begin(format!("QUINTET_MESSAGING_SEED={seed}")));
        for _ in 0..STEPS {
            runtime.block_on(life.step(&mut random));
            life.compare();
        }
    }
    assert_eq!(crate::verify(&life.bench.context.store.read()).unwrap(), [""; 0], "{}", life.told());
}

impl Life {
    fn new() -> Life {
        let mut bench = Bench::new();
        bench.set(|workspace| workspace.limits = vec![(crate::limits::APPROVALS_PER_DAY.code, None)]);
        let agents = (0..AGENTS).map(|agent| bench.agent(&format!("a{agent}"))).collect();
        let rules = file::read(r#"[{"tool":"Guarded","action":"approval"}]"#).unwrap();
        let workspace = bench.workspace.no;
        bench.run(move |tx, now| Ok(guard_rows::set_rules(tx, now, workspace, rules)?)).unwrap();
        Life { bench, agents, model: BTreeMap::new(), now: 0, messages: 0, log: Vec::new() }
    }

    /// Begins a life: whatever was pending or could be used is over by then, so that lives do not meet.
    async fn begin(&mut self, seed: String) {
        self.bench.advance(86_400).await;
        for agent in &self.agents {
            // They are all there, so that none retires by itself.
            let _ = self.bench.context.attendance.saw(*agent, "k", None, false, self.bench.now());
        }
        self.now = self.bench.now().as_micros() / 1_000_000;
        self.messages = self.delivered();
        self.log = vec![seed];
        self.model.clear();
    }

    /// How much the agents have got.
    fn delivered(&self) -> u64 {
        let read = self.bench.context.store.read();
        self.agents.iter().map(|agent| mailboxes::get(&read, *agent).unwrap().last_seq).sum()
    }

    fn told(&self) -> String {
        self.log.join("\n")
    }

    /// A verb in a transaction, which fails after all that it did once in a while: then nothing of it is there.
    fn run<T: Send + 'static>(
        &mut self,
        random: &mut Rng,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Option<Result<T, Refusal>> {
        let fails = random.u32(0..6) == 0;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let outcome = self.bench.context.store.write_blocking(deadline, move |tx, now| {
            let done = verb(tx, now);
            if fails { Err(Abort::Failed(Failure::Io("injected".to_owned()))) } else { done }
        });
        match outcome {
            Ok(value) => Some(Ok(value)),
            Err(Abort::Refused(refusal)) => Some(Err(refusal)),
            Err(Abort::Failed(_)) if fails => None,
            Err(Abort::Failed(failure)) => panic!("the store failed: {failure}"),
        }
    }

    async fn step(&mut self, random: &mut Rng) {
        match random.u32(0..100) {
            0..15 => self.raise(random),
            15..45 => self.use_tool(random),
            45..60 => self.decide(random),
            60..68 => self.link(random),
            68..84 => self.decide_on_page(random),
            _ => {
                let seconds = [1, 60, 1_800, 3_599, 3_600, 7_200][random.usize(0..6)];
                self.log.push(format!("{seconds} seconds pass"));
                self.bench.advance(seconds).await;
                self.now += seconds as i64;
                let now = self.now;
                for known in self.model.values_mut().filter(|known| known.verdict.is_none() && known.expires_at <= now)
                {
                    known.verdict = Some((Status::TimedOut, known.expires_at));
                    self.messages += 1;
                }
            }
        }
    }

    fn any(&self, random: &mut Rng) -> Option<ApprovalId> {
        let all: Vec<ApprovalId> = self.model.keys().copied().collect();
        if all.is_empty() { None } else { Some(all[random.usize(0..all.len())]) }
    }

    fn key(&self, id: ApprovalId) -> ApprovalKey {
        (self.bench.workspace.no, id)
    }

    fn note(&mut self, id: ApprovalId, agent: usize, minutes: i64, use_of: Option<usize>) {
        let expires_at = self.now + minutes * 60;
        let known = Known { expires_at, verdict: None, by: None, agent, use_of, is_used: false, links: Vec::new() };
        assert!(self.model.insert(id, known).is_none());
    }

    fn raise(&mut self, random: &mut Rng) {
        let agent = random.usize(0..AGENTS);
        let minutes = [1, 30, 60, 1_440][random.usize(0..4)];
        let empty = Json::Object(Vec::new());
        let new = NewApproval {
            by_mail: None,
            title: "x".to_owned(),
            kind: "generic".to_owned(),
            thread: None,
            matter: Matter::of(None, &empty, &empty).unwrap(),
            expires_minutes: Some(minutes),
            requester: (self.agents[agent].1, format!("a{agent}")),
            attestation: Attestation::Platform,
        };
        let workspace = self.bench.workspace.clone();
        let raised = self.run(random, move |tx, now| raise(tx, now, &workspace, new));
        self.log.push(format!("{agent} raises for {minutes} minutes: {raised:?}"));
        if let Some(raised) = raised {
            self.note(raised.unwrap().0.1, agent, minutes, None);
        }
    }

    /// What the model says of a use: the approval that allows it, or is waited for.
    fn use_tool(&mut self, random: &mut Rng) {
        let (agent, which) = (random.usize(0..AGENTS), random.usize(0..2));
        let tool_input = parse(format!("{{\"n\":{which}}}").as_bytes(), Limits::default()).unwrap();
        let wanted = Use { tool_name: "Guarded".to_owned(), tool_input, is_truncated: false };
        let asked = Asked::of((self.agents[agent], format!("a{agent}")), Attestation::Platform, wanted);
        let workspace = self.bench.workspace.clone();
        let answer = self.run(random, move |tx, now| check(tx, now, &workspace, asked));
        self.log.push(format!("{agent} wants to use {which}: {answer:?}"));
        let Some(answer) = answer.map(Result::unwrap) else { return };
        let now = self.now;
        let mut own = self.model.iter_mut().filter(|(_, known)| (known.agent, known.use_of) == (agent, Some(which)));
        let live = own.find(|(_, known)| match known.verdict {
            None => true,
            Some((Status::Approved, at)) => !known.is_used && now < at + 3_600,
            Some(_) => false,
        });
        match live {
            Some((id, known)) if known.verdict.is_some() => {
                assert_eq!((answer.is_allowed, answer.approval), (true, Some(*id)), "{}", self.log.join("\n"));
                assert!(known.by.is_some() && !known.is_used);
                known.is_used = true;
            }
            Some((id, _)) => {
                assert_eq!((answer.is_allowed, answer.approval), (false, Some(*id)), "{}", self.log.join("\n"));
            }
            None => {
                assert!(!answer.is_allowed, "{}", self.told());
                self.note(answer.approval.unwrap(), agent, 1_440, Some(which));
            }
        }
    }

    fn decide(&mut self, random: &mut Rng) {
        let Some(id) = self.any(random) else { return };
        let choice = if random.bool() { Choice::Approve } else { Choice::Reject };
        let by = format!("p{}", random.u32(0..9));
        let act = Act { by: by.clone(), how: How::Cli, source: "uid 0".to_owned(), reason: "r".to_owned() };
        let key = self.key(id);
        let decided = self.run(random, move |tx, now| decide(tx, now, key, choice, act));
        self.log.push(format!("{by} says {choice:?} to {id}: {:?}", decided.as_ref().map(|done| done.is_ok())));
        self.decided(id, decided.map(|done| done.map(drop)), choice, by);
    }

    fn link(&mut self, random: &mut Rng) {
        let Some(id) = self.any(random) else { return };
        let (key, token) = (self.key(id), Token::draw());
        let text = token.text().to_owned();
        let person = Person::Operator("l".to_owned());
        let made = self.run(random, move |tx, now| links::make(tx, now, key, person, &token));
        self.log.push(format!("a link to {id}: {:?}", made.as_ref().map(|made| made.is_ok())));
        let known = self.model.get_mut(&id).unwrap();
        if let Some(made) = made {
            assert_eq!(made.is_ok(), known.verdict.is_none());
            known.links.extend(Some(text).filter(|_| made.is_ok()));
        }
    }

    fn decide_on_page(&mut self, random: &mut Rng) {
        let Some(id) = self.any(random) else { return };
        let links = self.model[&id].links.clone();
        let token = if links.is_empty() || random.u32(0..8) == 0 {
            "forged".to_owned()
        } else {
            links[random.usize(0..links.len())].clone()
        };
        let is_forged = token == "forged";
        let choice = if random.bool() { Choice::Approve } else { Choice::Reject };
        let said = ("192.0.2.1".to_owned(), "r".to_owned());
        let decided = self.run(random, move |tx, now| decide_on_page(tx, now, &token, choice, said));
        self.log.push(format!("{choice:?} on a page of {id}: {:?}", decided.as_ref().map(|done| done.is_ok())));
        match decided {
            Some(Err(Refusal::NotFound(_))) => assert!(is_forged),
            other => {
                assert!(!is_forged || other.is_none());
                self.decided(id, other.map(|done| done.map(drop)), choice, "l".to_owned());
            }
        }
    }

    fn decided(&mut self, id: ApprovalId, outcome: Option<Result<(), Refusal>>, choice: Choice, by: String) {
        let now = self.now;
        let Some(outcome) = outcome else { return };
        let told = self.told();
        let known = self.model.get_mut(&id).unwrap();
        assert_eq!(outcome.is_ok(), known.verdict.is_none(), "{told}");
        if outcome.is_ok() {
            let status = if choice == Choice::Approve { Status::Approved } else { Status::Rejected };
            (known.verdict, known.by) = (Some((status, now)), Some(by));
            self.messages += 1;
        } else {
            assert!(matches!(outcome, Err(Refusal::AlreadyDecided(_))), "{outcome:?}");
        }
    }

    fn compare(&self) {
        let read = self.bench.context.store.read();
        for (id, known) in &self.model {
            let key = self.key(*id);
            let approval = rows::find(&read, key).unwrap().unwrap();
            let verdict = rows::verdict(&read, &self.bench.workspace, key).unwrap();
            let status = known.verdict.map_or(Status::Pending, |(status, _)| status);
            assert_eq!(approval.status, status, "{id}\n{}", self.told());
            let at = approval.decided_at.map(|at| at.as_micros() / 1_000_000);
            assert_eq!(at, known.verdict.map(|(_, at)| at), "{id}\n{}", self.told());
            assert_eq!(verdict.as_ref().map(|verdict| verdict.status), known.verdict.map(|(status, _)| status));
            let by = verdict.filter(|verdict| verdict.how.is_some()).map(|verdict| verdict.by);
            assert_eq!(by, known.by, "nothing is approved without an act\n{}", self.told());
        }
        assert_eq!(self.delivered(), self.messages, "each verdict is told once\n{}", self.told());
    }
}
