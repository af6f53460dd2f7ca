//! Concurrent histories over HTTP are linearizable: for what all callers saw there is one order of their calls, in
//! keeping with real time, in which a ledger that takes one call after the other would have answered the same.
//!
//! The checker is the algorithm of Wing and Gong with Lowe's memory of states that led nowhere. It is written out here:
//! the crates that have it either bring a web server along or search without that memory.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use crate::ledger::{Books, FUTURE, text, transfer};
use crate::support::appliance::{Client, shared};

const ACCOUNTS: usize = 3;
const CALLERS: usize = 6;
const CALLS: usize = 9;
const ROUNDS: u64 = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    /// From, to, minor units; as a hold or at once.
    Move {
        from: usize,
        to: usize,
        minor: i64,
        hold: bool,
    },
    /// Commit or void the hold with this number.
    Settle {
        hold: u64,
        commit: bool,
    },
    Balance(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// What is available on both accounts afterwards; the number of the hold.
    Moved {
        available: [i64; 2],
        hold: Option<u64>,
    },
    Settled,
    Refused(String),
    /// Posted debits and credits, pending debits and credits.
    Balance([i64; 4]),
}

#[derive(Clone, Debug)]
struct Done {
    call: Call,
    seen: Seen,
    began: Instant,
    ended: Instant,
}

/// The ledger that takes one call after the other: three credit-normal accounts, the first without a floor.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Model {
    /// Posted debits and credits, pending debits and credits.
    sums: [[i64; 4]; ACCOUNTS],
    /// Holds that are pending: number, from, to, minor units. Final ones are gone.
    holds: Vec<(u64, usize, usize, i64)>,
}

impl Model {
    fn available(&self, account: usize) -> i64 {
        let [debits, credits, held, _] = self.sums[account];
        credits - debits - held
    }

    /// What a call would answer, and what comes of it. `seen` lends the number that a new hold was given.
    fn step(&self, call: &Call, seen: &Seen) -> Option<Model> {
        let mut next = self.clone();
        let answer = match call {
            Call::Move { from, to, minor, hold } => {
                if *from != 0 && self.available(*from) < *minor {
                    Seen::Refused("INSUFFICIENT_AVAILABLE".into())
                } else {
                    let offset = if *hold { 2 } else { 0 };
                    next.sums[*from][offset] += minor;
                    next.sums[*to][offset + 1] += minor;
                    let number = match seen {
                        Seen::Moved { hold, .. } => *hold,
                        _ => None,
                    };
                    if let (true, Some(number)) = (hold, number) {
                        next.holds.push((number, *from, *to, *minor));
                        next.holds.sort_unstable();
                    }
                    Seen::Moved { available: [next.available(*from), next.available(*to)], hold: number }
                }
            }
            Call::Settle { hold, commit } => match self.holds.iter().position(|(number, ..)| number == hold) {
                None => Seen::Refused("INVALID_TRANSACTION_STATE".into()),
                Some(place) => {
                    let (_, from, to, minor) = next.holds.remove(place);
                    next.sums[from][2] -= minor;
                    next.sums[to][3] -= minor;
                    if *commit {
                        next.sums[from][0] += minor;
                        next.sums[to][1] += minor;
                    }
                    Seen::Settled
                }
            },
            Call::Balance(account) => Seen::Balance(self.sums[*account]),
        };
        (answer == *seen).then_some(next)
    }
}

/// Whether there is such an order.
fn is_linearizable(history: &[Done], start: &Model) -> bool {
    assert!(history.len() <= 128);
    let mut led_nowhere = HashSet::new();
    search(history, 0, start, &mut led_nowhere)
}

fn search(history: &[Done], taken: u128, model: &Model, led_nowhere: &mut HashSet<(u128, Model)>) -> bool {
    let left = || history.iter().enumerate().filter(|(index, _)| taken & (1 << index) == 0);
    // Whatever has begun before the first of the others ended may come next.
    let Some(first_end) = left().map(|(_, done)| done.ended).min() else { return true };
    if !led_nowhere.insert((taken, model.clone())) {
        return false;
    }
    left().filter(|(_, done)| done.began <= first_end).any(|(index, done)| {
        let next = model.step(&done.call, &done.seen);
        next.is_some_and(|next| search(history, taken | (1 << index), &next, led_nowhere))
    })
}

/// A caller's calls, chosen by a generator that starts from `seed`.
fn caller(client: &Client, accounts: &[String], holds: &Mutex<Vec<String>>, seed: u64, done: &Mutex<Vec<Done>>) {
    let mut state = seed;
    let mut roll = |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    for _ in 0..CALLS {
        let from = usize::try_from(roll(ACCOUNTS as u64)).unwrap();
        let to = (from + 1 + usize::try_from(roll(ACCOUNTS as u64 - 1)).unwrap()) % ACCOUNTS;
        let minor = i64::try_from(roll(5)).unwrap() + 1;
        let known = u64::try_from(holds.lock().unwrap().len()).unwrap();
        let call = match roll(10) {
            0..=3 => Call::Move { from, to, minor, hold: false },
            4..=5 => Call::Move { from, to, minor, hold: true },
            6..=7 if known > 0 => Call::Settle { hold: roll(known), commit: roll(2) == 0 },
            _ => Call::Balance(from),
        };
        let began = Instant::now();
        let seen = perform(client, accounts, holds, &call);
        let ended = Instant::now();
        done.lock().unwrap().push(Done { call, seen, began, ended });
    }
}

fn perform(client: &Client, accounts: &[String], holds: &Mutex<Vec<String>>, call: &Call) -> Seen {
    let number = |value: &Value| value.as_str().unwrap().parse::<i64>().unwrap();
    let answer = match call {
        Call::Move { from, to, minor, hold } => {
            let mut body = transfer(&accounts[*from], &accounts[*to], &format!("0.0{minor}"));
            if *hold {
                body["pending"] = json!(true);
                body["expires_at"] = json!(FUTURE);
            }
            client.post("/v1/transactions", &body)
        }
        Call::Settle { hold, commit } => {
            let id = holds.lock().unwrap()[usize::try_from(*hold).unwrap()].clone();
            let how = if *commit { "commit" } else { "void" };
            client.post(&format!("/v1/transactions/{id}/{how}"), &json!({}))
        }
        Call::Balance(account) => client.get(&format!("/v1/accounts/{}/balance", accounts[*account])),
    };
    let body = answer.json();
    match (call, answer.status) {
        (Call::Move { hold, .. }, 201) => {
            let available = [0, 1].map(|index: usize| number(&body["accounts"][index]["available_after_minor"]));
            let hold = hold.then(|| {
                let mut holds = holds.lock().unwrap();
                holds.push(text(&body, "transaction_id"));
                holds.len() as u64 - 1
            });
            Seen::Moved { available, hold }
        }
        (Call::Settle { .. }, 200) => Seen::Settled,
        (Call::Balance(_), 200) => {
            let sum = |group: &str, side: &str| number(&body[group][side]);
            Seen::Balance([
                sum("posted", "debits_minor"),
                sum("posted", "credits_minor"),
                sum("pending", "debits_minor"),
                sum("pending", "credits_minor"),
            ])
        }
        _ => Seen::Refused(text(&body["error"], "code")),
    }
}

#[test]
fn concurrent_histories_are_linearizable() {
    let books = Books::open(shared());
    let mut calls = 0;
    for round in 0..ROUNDS {
        let open = |floor: Value| {
            let body = json!({
                "asset_type_id": books.asset_type_id, "name": "n", "normal_side": "credit", "balance_floor": floor,
            });
            text(&books.client.post("/v1/accounts", &body).expect(201), "account_id")
        };
        let accounts = [open(Value::Null), open(json!("0.00")), open(json!("0.00"))];
        let (done, holds) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for number in 0..CALLERS as u64 {
                let (client, accounts, holds, done) = (books.client.clone(), &accounts, &holds, &done);
                scope.spawn(move || caller(&client, accounts, holds, round * 1000 + number, done));
            }
        });
        let history = done.into_inner().unwrap();
        calls += history.len();
        assert!(is_linearizable(&history, &Model::default()), "round {round}: {history:#?}");
    }
    println!("{calls} calls by {CALLERS} callers in {ROUNDS} histories, all linearizable");
}

#[test]
fn a_history_without_an_order_is_noticed() {
    let start = Instant::now();
    let at = |millis: u64| start + std::time::Duration::from_millis(millis);
    let deposit = |began, ended, available: [i64; 2]| Done {
        call: Call::Move { from: 0, to: 1, minor: 5, hold: false },
        seen: Seen::Moved { available, hold: None },
        began: at(began),
        ended: at(ended),
    };
    let read = |began, ended, credits: i64| Done {
        call: Call::Balance(1),
        seen: Seen::Balance([0, credits, 0, 0]),
        began: at(began),
        ended: at(ended),
    };
    let fits = |history: &[Done]| is_linearizable(history, &Model::default());
    assert!(fits(&[deposit(0, 10, [-5, 5]), read(11, 12, 5)]));
    assert!(fits(&[deposit(0, 10, [-5, 5]), read(5, 12, 0)]), "overlapping, so it may come first");
    assert!(!fits(&[deposit(0, 10, [-5, 5]), read(11, 12, 0)]), "a stale read");
    assert!(!fits(&[deposit(0, 10, [-5, 5]), deposit(0, 10, [-5, 5])]), "a lost update");
    assert!(!fits(&[deposit(0, 30, [-5, 5]), read(1, 2, 5), read(3, 4, 0)]), "a read that goes back");
    let settle = |began, seen| Done {
        call: Call::Settle { hold: 0, commit: true },
        seen,
        began: at(began),
        ended: at(began + 1),
    };
    let hold = Done {
        call: Call::Move { from: 0, to: 1, minor: 5, hold: true },
        seen: Seen::Moved { available: [-5, 0], hold: Some(0) },
        began: at(0),
        ended: at(1),
    };
    assert!(fits(&[hold.clone(), settle(2, Seen::Settled)]));
    assert!(!fits(&[hold, settle(2, Seen::Settled), settle(4, Seen::Settled)]), "committed twice");
}
