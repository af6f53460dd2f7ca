//! Load on the ledger over HTTP, and the audit of what became of it.
//!
//! Callers post as fast as they are answered and write down what they were told. The audit then asks an appliance (the
//! same one after a restart, or a copy of it) for everything: what was acknowledged must be there with the same answer,
//! what was refused must not, nothing may be there twice, nothing may be missing in the middle, and the books balance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::appliance::{Answer, Appliance, Client, fresh_key};

const ACCOUNTS: usize = 8;

/// How many callers the audit uses: it must not take longer than the load did.
const AUDITORS: usize = 16;

/// How many of the older postings each audit asks for again.
const OLD_SAMPLE: usize = 200;

/// How long a load may take to come to something.
const PATIENCE: Duration = Duration::from_secs(60);

/// One posting as it was sent, and what came back.
pub struct Posting {
    key: String,
    debit: usize,
    credit: usize,
    minor: u64,
    sent: Instant,
    answered: Instant,
    told: Told,
}

/// What a caller knows about its posting.
enum Told {
    /// It happened; the answer.
    Done(String),
    /// It did not: the disk is full, or the writer was busy.
    Refused,
    /// Nobody answered, or the appliance does not know either.
    Unknown,
}

impl Posting {
    /// Whether the appliance said that it happened.
    pub fn is_acknowledged(&self) -> bool {
        matches!(self.told, Told::Done(_))
    }

    /// Whether it was refused for the moment.
    pub fn is_refused(&self) -> bool {
        matches!(self.told, Told::Refused)
    }

    fn body(&self, ledger: &Ledger) -> Value {
        let accounts = &ledger.accounts;
        let amount = format!("{}.{:02}", self.minor / 100, self.minor % 100);
        json!({
            "description": self.key,
            "pending": false,
            "metadata": {"padding": "x".repeat(ledger.padding_bytes)},
            "entries": [
                {"account_id": accounts[self.debit], "direction": "debit", "amount": amount},
                {"account_id": accounts[self.credit], "direction": "credit", "amount": amount},
            ],
        })
    }
}

/// Posted debits and credits of every account, in minor units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums([(u64, u64); ACCOUNTS]);

impl Sums {
    fn with<'a>(mut self, postings: impl IntoIterator<Item = &'a Posting>) -> Sums {
        for posting in postings {
            self.0[posting.debit].0 += posting.minor;
            self.0[posting.credit].1 += posting.minor;
        }
        self
    }
}

/// What an audit found among the postings it was given.
pub struct Found {
    /// Postings that were there before the audit repeated them.
    pub there: usize,
    /// Postings that were not.
    pub absent: usize,
    /// What each posting's answer is from now on.
    answers: Vec<String>,
}

/// What callers need to know to post.
#[derive(Clone)]
struct Ledger {
    api_key: String,
    accounts: Arc<Vec<String>>,
    padding_bytes: usize,
}

/// A tenant's accounts in the ledger, and what must be in them.
pub struct Books {
    ledger: Ledger,
    settled: Vec<Posting>,
    sums: Sums,
}

impl Books {
    /// A new tenant with its accounts.
    pub fn open(appliance: &Appliance) -> Books {
        let tenant = appliance.tenant();
        let (_, api_key) = appliance.key(&tenant, &["ledger_admin", "ledger_poster", "ledger_reader"]);
        let client = appliance.client("ledger", &api_key);
        let asset = json!({"code": "EUR", "kind": "fiat", "scale": 2});
        let asset = client.post("/v1/asset-types", &asset).expect(201)["asset_type_id"].clone();
        let account = |n: usize| {
            let body = json!({
                "asset_type_id": asset, "name": format!("account {n}"), "normal_side": "debit", "balance_floor": null,
            });
            client.post("/v1/accounts", &body).expect(201)["account_id"].as_str().unwrap().to_string()
        };
        let accounts = Arc::new((0..ACCOUNTS).map(account).collect());
        let ledger = Ledger { api_key, accounts, padding_bytes: 0 };
        Books { ledger, settled: Vec::new(), sums: Sums::default() }
    }

    /// With postings that carry so many bytes more.
    pub fn padded(mut self, padding_bytes: usize) -> Books {
        self.ledger.padding_bytes = padding_bytes;
        self
    }

    /// Their owner's client.
    pub fn client(&self, appliance: &Appliance) -> Client {
        appliance.client("ledger", &self.ledger.api_key)
    }

    /// How many postings are known to be in them.
    pub fn len(&self) -> usize {
        self.settled.len()
    }

    /// Reads the balance of the first account: what a reader of the ledger does.
    pub fn read(&self, appliance: &Appliance) -> Answer {
        self.client(appliance).get(&format!("/v1/accounts/{}/balance", self.ledger.accounts[0]))
    }

    /// Posts once; the answer and the note of it.
    pub fn post(&self, appliance: &Appliance) -> (Posting, Option<Answer>) {
        post_one(&self.client(appliance), &self.ledger, 0)
    }

    /// Starts `callers` who post until the load is finished.
    pub fn load(&self, appliance: &Appliance, callers: usize) -> Load {
        self.paced_load(appliance, callers, Duration::ZERO)
    }

    /// [`Books::load`] whose callers pause after each posting, for loads that go on for minutes: the audit repeats
    /// every posting, so each costs twice.
    pub fn paced_load(&self, appliance: &Appliance, callers: usize, pause: Duration) -> Load {
        let (going, acknowledged) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let caller = |caller: usize| {
            let (client, ledger) = (self.client(appliance), self.ledger.clone());
            let (going, acknowledged) = (going.clone(), acknowledged.clone());
            std::thread::spawn(move || {
                let mut postings = Vec::new();
                while going.load(Ordering::Relaxed) {
                    let (posting, _) = post_one(&client, &ledger, caller + postings.len() * callers);
                    match posting.told {
                        Told::Done(_) => drop(acknowledged.fetch_add(1, Ordering::Relaxed)),
                        // Whoever is turned away does not ask again at once.
                        Told::Refused | Told::Unknown => std::thread::sleep(Duration::from_millis(5)),
                    }
                    postings.push(posting);
                    std::thread::sleep(pause);
                }
                postings
            })
        };
        let callers = (0..callers).map(caller).collect();
        Load { going, acknowledged, callers }
    }

    /// Asks an appliance for `new` postings and for a sample of the settled ones, and repeats what is not there: from
    /// then on everything has happened once. What was acknowledged before `since` must be there already.
    ///
    /// # Panics
    /// Something is lost, doubled, refused falsely or missing in the middle, or the books do not balance; `case` says
    /// where.
    pub fn audit(&self, appliance: &Appliance, new: &[Posting], since: Instant, case: &str) -> Found {
        let client = self.client(appliance);
        let before = self.balances(&client);
        let (is_there, answers): (Vec<bool>, Vec<String>) =
            self.repeat(&client, &new.iter().collect::<Vec<_>>(), case).into_iter().unzip();
        let there: Vec<&Posting> = new.iter().zip(&is_there).filter_map(|(p, there)| there.then_some(p)).collect();
        let absent: Vec<&Posting> = new.iter().zip(&is_there).filter_map(|(p, there)| (!there).then_some(p)).collect();
        let lost: Vec<_> =
            absent.iter().filter(|p| p.is_acknowledged() && p.answered <= since).map(|p| &p.key).collect();
        assert!(lost.is_empty(), "{case}: {} acknowledged postings of {} are lost: {lost:?}", lost.len(), new.len());
        if let Some(latest) = there.iter().map(|posting| posting.sent).max() {
            let hole = absent.iter().find(|posting| posting.is_acknowledged() && posting.answered < latest);
            assert!(hole.is_none(), "{case}: a later posting is there, an earlier one is not");
        }
        let expected = self.sums.clone().with(there.iter().copied());
        assert_eq!(before, expected, "{case}: the balances are not those of the postings that are there");
        assert_eq!(self.balances(&client), self.sums.clone().with(new), "{case}: after repeating everything");
        self.look_up(&client, there.iter().step_by(there.len() / OLD_SAMPLE + 1).copied(), case);
        let old: Vec<&Posting> = self.settled.iter().rev().step_by(self.settled.len() / OLD_SAMPLE + 1).collect();
        let old_is_there = self.repeat(&client, &old, case);
        assert!(old_is_there.iter().all(|(there, _)| *there), "{case}: a posting of an earlier round is lost");
        self.look_up(&client, old.into_iter(), case);
        Found { there: there.len(), absent: absent.len(), answers }
    }

    /// Takes postings into the books as an audit of the appliance itself left them: all have happened.
    pub fn settle(&mut self, new: Vec<Posting>, found: Found) {
        self.sums = std::mem::take(&mut self.sums).with(&new);
        let happened = |(posting, answer)| Posting { told: Told::Done(answer), ..posting };
        self.settled.extend(new.into_iter().zip(found.answers).map(happened));
    }

    /// Sends postings again under their keys; whether each had happened before, and its answer.
    fn repeat(&self, client: &Client, postings: &[&Posting], case: &str) -> Vec<(bool, String)> {
        let share = postings.len().div_ceil(AUDITORS).max(1);
        let repeat_one = |posting: &&Posting| {
            let answer = client.post_under(&posting.key, "/v1/transactions", &posting.body(&self.ledger));
            assert_eq!(answer.status, 201, "{case}: {answer:?}");
            let was_there = answer.header("idempotent-replayed") == "true";
            match &posting.told {
                Told::Done(text) if was_there => assert_eq!(&answer.text, text, "{case}: the answer has changed"),
                Told::Refused => assert!(!was_there, "{case}: a posting happened although it was refused"),
                Told::Done(_) | Told::Unknown => {}
            }
            (was_there, answer.text)
        };
        std::thread::scope(|scope| {
            let shares = postings.chunks(share);
            let callers: Vec<_> =
                shares.map(|share| scope.spawn(|| share.iter().map(repeat_one).collect::<Vec<_>>())).collect();
            callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
        })
    }

    /// The rows of a posting, not only its recorded answer, are there.
    fn look_up<'a>(&self, client: &Client, postings: impl Iterator<Item = &'a Posting>, case: &str) {
        for posting in postings {
            let Told::Done(text) = &posting.told else { continue };
            let id = serde_json::from_str::<Value>(text).unwrap()["transaction_id"].as_str().unwrap().to_string();
            let found = client.get(&format!("/v1/transactions/{id}")).expect(200);
            assert_eq!(found["state"], "committed", "{case}");
            assert_eq!(found["description"], posting.key.as_str(), "{case}");
            assert_eq!(found["entries"].as_array().unwrap().len(), 2, "{case}");
        }
    }

    fn balances(&self, client: &Client) -> Sums {
        let mut sums = Sums::default();
        for (account, sums) in self.ledger.accounts.iter().zip(&mut sums.0) {
            let balance = client.get(&format!("/v1/accounts/{account}/balance")).expect(200);
            let read = |field: &str| balance["posted"][field].as_str().unwrap().parse().unwrap();
            *sums = (read("debits_minor"), read("credits_minor"));
        }
        sums
    }
}

/// Callers at work. They stop when this is dropped.
pub struct Load {
    going: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    callers: Vec<JoinHandle<Vec<Posting>>>,
}

impl Load {
    /// How many postings have been acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Waits until so many more postings have been acknowledged.
    pub fn wait_for(&self, more: u64) {
        let (begun, wanted) = (Instant::now(), self.acknowledged() + more);
        while self.acknowledged() < wanted {
            assert!(begun.elapsed() < PATIENCE, "only {} of {wanted} postings acknowledged", self.acknowledged());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets every caller finish what it has begun; all their postings.
    pub fn finish(mut self) -> Vec<Posting> {
        self.going.store(false, Ordering::Relaxed);
        std::mem::take(&mut self.callers).into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.going.store(false, Ordering::Relaxed);
    }
}

/// Posts something that only `n` and the key determine.
fn post_one(client: &Client, ledger: &Ledger, n: usize) -> (Posting, Option<Answer>) {
    let (debit, credit) = ((n + 1 + n / 7 % (ACCOUNTS - 1)) % ACCOUNTS, n % ACCOUNTS);
    let minor = (n % 90 + 1) as u64 * 100 + n as u64 % 100;
    let now = Instant::now();
    let mut posting = Posting { key: fresh_key(), debit, credit, minor, sent: now, answered: now, told: Told::Unknown };
    let answer = client.try_post_under(&posting.key, "/v1/transactions", &posting.body(ledger));
    posting.answered = Instant::now();
    posting.told = match &answer {
        Some(answer) if answer.status == 201 => Told::Done(answer.text.clone()),
        Some(answer) if answer.status == 409 => {
            let code = answer.json()["error"]["code"].as_str().unwrap_or_default().to_string();
            assert!(["POSTING_FROZEN", "LOCK_TIMEOUT"].contains(&code.as_str()), "a false refusal: {answer:?}");
            Told::Refused
        }
        // A connection that was cut is no answer; 503 says that the outcome is unknown.
        None => Told::Unknown,
        Some(answer) => {
            assert_eq!(answer.status, 503, "neither done nor unknown: {answer:?}");
            Told::Unknown
        }
    };
    (posting, answer)
}
