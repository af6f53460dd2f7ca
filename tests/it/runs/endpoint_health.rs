//! The health of an endpoint against a simple model of it: outcomes, advances of the clock, disabling, enabling, restarts, at
//! random. The model is told when each attempt was made and what the receiver said to it, and nothing else.
//!
//! `QUINTET_HEALTH_STEPS=N` makes more steps; a failure prints its seed for `QUINTET_HEALTH_SEED`.

use std::collections::BTreeMap;

use quintet_platform::clock::parse_rfc3339;
use serde_json::{Value, json};

use crate::runs::Desk;
use crate::runs::webhooks::id_of;
use crate::support::appliance::{Appliance, Setup, rounds};
use crate::support::receiver::Receiver;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
const ATTEMPTS: u64 = 5;
/// So many of a day are told, whether there are more or not.
const DEADS_MAX: usize = 100;

/// What the receiver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Yes,
    /// Try again.
    Later,
    /// Never again.
    No,
}

impl Says {
    fn status(self) -> u16 {
        match self {
            Says::Yes => 204,
            Says::Later => 503,
            Says::No => 410,
        }
    }
}

/// What is believed of the endpoint. Instants are microseconds since 1970.
#[derive(Default)]
struct Model {
    /// Why it is inactive.
    disabled: Option<&'static str>,
    consecutive_failures: u64,
    dead_total: u64,
    /// Since it was enabled last.
    deads: Vec<i64>,
    last_success: Option<i64>,
    last_dead: Option<i64>,
    /// The last success ever, for the record.
    last_delivered: Option<i64>,
    /// Attempts made, of those that wait.
    waiting: BTreeMap<u64, u64>,
    /// What the others came to.
    ended: BTreeMap<u64, (&'static str, u64)>,
    notices: usize,
    /// When the last one went out, since it was enabled last.
    noticed: Option<i64>,
}

impl Model {
    fn deads_at(&self, now: i64) -> usize {
        self.deads.iter().filter(|at| now - **at < DAY).count()
    }

    /// The next attempt of one that waits was made at this instant, if it was made.
    fn attempted(&mut self, id: u64, now: i64, says: Says) {
        let attempts = self.waiting[&id];
        if self.disabled.is_some() {
            self.waiting.remove(&id);
            self.ended.insert(id, ("dead", attempts));
            return;
        }
        let attempts = attempts + 1;
        self.waiting.insert(id, attempts);
        if says == Says::Yes {
            self.consecutive_failures = 0;
            (self.last_success, self.last_delivered) = (Some(now), Some(now));
            self.waiting.remove(&id);
            self.ended.insert(id, ("delivered", attempts));
            return;
        }
        self.consecutive_failures += 1;
        if says == Says::No || attempts == ATTEMPTS {
            self.died(id, attempts, now);
        }
    }

    fn died(&mut self, id: u64, attempts: u64, now: i64) {
        self.waiting.remove(&id);
        self.ended.insert(id, ("dead", attempts));
        let before = self.deads_at(now);
        self.deads.push(now);
        (self.dead_total, self.last_dead) = (self.dead_total + 1, Some(now));
        let was_noticed = self.noticed.is_some_and(|at| now - at < DAY);
        if self.deads_at(now) >= 5 && !was_noticed && (before == 4 || self.noticed.is_none()) {
            self.notices += 1;
            self.noticed = Some(now);
        }
        if self.deads_at(now) >= 20 && self.last_success.is_none_or(|at| now - at >= DAY) {
            self.disabled = Some("dead_without_success_24h");
        }
    }

    /// A new window begins. What was taken at that very instant lies in it: the clock may stand still between the two.
    fn enabled(&mut self, now: i64) {
        if self.disabled.take().is_some() {
            self.consecutive_failures = 0;
            self.last_success = self.last_success.filter(|at| *at >= now);
            self.deads.clear();
            self.noticed = None;
        }
    }
}

/// The appliance and the model, side by side.
struct World {
    appliance: Option<Appliance>,
    data: std::path::PathBuf,
    key: String,
    receiver: Receiver,
    endpoint: String,
    model: Model,
    says: Says,
}

impl World {
    fn start(data: &std::path::Path) -> Appliance {
        Setup::new().on(data).rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.1/32").start()
    }

    fn open(data: std::path::PathBuf) -> World {
        let (appliance, receiver) = (World::start(&data), Receiver::start());
        let tenant = appliance.tenant();
        appliance.cli_json(&["tenant", "quota", &tenant, "--service", "runs", "--max-daily-runs", "1000000"]);
        let key = appliance.key(&tenant, &[]).1;
        let desk = Desk { client: appliance.client("runs", &key) };
        let endpoint = id_of(&desk.endpoint(&receiver.url(204, "health"), &["run.failed"]));
        desk.endpoint(&receiver.url(204, "watch"), &["webhook.endpoint_degraded"]);
        let (appliance, model, says) = (Some(appliance), Model::default(), Says::Yes);
        World { appliance, data, key, receiver, endpoint, model, says }
    }

    fn appliance(&self) -> &Appliance {
        self.appliance.as_ref().unwrap()
    }

    fn desk(&self) -> Desk {
        Desk { client: self.appliance().client("runs", &self.key) }
    }

    fn now(&self) -> i64 {
        micros(&self.appliance().cli_json(&["status"])["now"]).unwrap()
    }

    fn patch(&self, change: &Value) -> Value {
        self.desk().client.patch(&format!("/api/v1/webhooks/{}", self.endpoint), change).expect(200)
    }

    fn deliveries(&self, filter: &str) -> BTreeMap<u64, Value> {
        let path = format!("/api/v1/webhooks/{}/deliveries?limit=200{filter}", self.endpoint);
        let page = self.desk().client.get(&path).expect(200);
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["delivery_id"].as_u64().unwrap(), one.clone()))
            .collect()
    }

    /// When those that wait are tried next, the soonest first.
    fn next(&self) -> Vec<(i64, u64)> {
        let all = self.deliveries("&state_filter=pending");
        let mut next: Vec<(i64, u64)> =
            self.model.waiting.keys().map(|id| (micros(&all[id]["next_attempt_at"]).unwrap(), *id)).collect();
        next.sort_unstable();
        next
    }

    fn submit(&mut self) {
        let before = self.deliveries("").keys().max().copied().unwrap_or(0);
        self.desk().expired();
        let now = self.now();
        self.appliance().cli_json(&["clock", "advance", "0"]);
        let new: Vec<u64> = self.deliveries("").into_keys().filter(|id| *id > before).collect();
        assert_eq!(new.len(), usize::from(self.model.disabled.is_none()), "an inactive one gets no rows");
        for id in new {
            self.model.waiting.insert(id, 0);
            self.model.attempted(id, now, self.says);
        }
    }

    /// Moves the clock, from attempt to attempt.
    fn advance(&mut self, seconds: i64) {
        let end = self.now() + seconds * SECOND;
        loop {
            let now = self.now();
            let due = self.next();
            let to = due.first().map_or(end, |(at, _)| (*at).min(end));
            // Whole seconds: behind the attempt, and before it is made once more.
            let step = (to - now + SECOND - 1) / SECOND;
            self.appliance().cli_json(&["clock", "advance", &step.max(0).to_string()]);
            let now = self.now();
            for (at, id) in due.into_iter().filter(|(at, _)| *at <= now) {
                self.model.attempted(id, at, self.says);
            }
            if now >= end {
                return;
            }
        }
    }

    fn restart(&mut self, is_killed: bool) {
        let appliance = self.appliance.take().unwrap();
        if is_killed {
            appliance.kill();
        } else {
            assert_eq!(appliance.stop(), Some(0));
        }
        self.appliance = Some(World::start(&self.data));
    }

    #[track_caller]
    fn compare(&self, step: &str) {
        let (record, now, model) = (self.desk().endpoint_of(&self.endpoint), self.now(), &self.model);
        let counts = ["consecutive_failures", "dead_deliveries_total", "dead_deliveries_24h"];
        let found = counts.map(|name| record[name].as_u64().unwrap());
        let believed = [model.consecutive_failures, model.dead_total, model.deads_at(now).min(DEADS_MAX) as u64];
        assert_eq!(found, believed, "{counts:?} after {step}");
        assert_eq!(
            (&record["active"], &record["disabled_reason"]),
            (&json!(model.disabled.is_none()), &json!(model.disabled)),
            "after {step}"
        );
        assert_eq!(micros(&record["last_dead_delivery_at"]), model.last_dead, "after {step}");
        assert_eq!(micros(&record["last_delivered_at"]), model.last_delivered, "after {step}");
        for (id, found) in self.deliveries("") {
            let (state, attempts) = match model.waiting.get(&id) {
                Some(attempts) => ("pending", *attempts),
                None => model.ended[&id],
            };
            assert_eq!((&found["state"], &found["attempt"]), (&json!(state), &json!(attempts)), "{id} after {step}");
        }
        let notices = self.receiver.wait("watch", model.notices);
        assert_eq!(notices.len(), model.notices, "notices after {step}");
    }
}

fn micros(instant: &Value) -> Option<i64> {
    instant.as_str().map(|text| parse_rfc3339(text).unwrap().as_micros())
}

#[test]
fn health_is_what_a_simple_model_says() {
    let seed = std::env::var("QUINTET_HEALTH_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("QUINTET_HEALTH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let mut world = World::open(directory.path().join("data"));
    // How it leans: what is only good, or only bad, comes to the ends of the rules.
    let mut good_permille = 500;
    let (mut disabled, mut restarts) = (0, 0);
    for number in 0..rounds("QUINTET_HEALTH_STEPS", 120) {
        let was_disabled = world.model.disabled;
        let step = match random.u32(..100) {
            0..=54 => {
                world.says = match random.u32(..1000) {
                    good if good < good_permille => Says::Yes,
                    _ if random.u32(..4) == 0 => Says::Later,
                    _ => Says::No,
                };
                world.patch(&json!({"url": world.receiver.url(world.says.status(), "health")}));
                // One by one: which of several at once is the twentieth is nobody's to say.
                (0..random.u32(1..6)).for_each(|_| world.submit());
                format!("events, answered {:?}", world.says)
            }
            55..=84 => {
                let seconds = [random.i64(1..60), random.i64(60..4_000), random.i64(4_000..40_000)][random.usize(..3)];
                world.advance(seconds);
                format!("an advance of {seconds} s, answered {:?}", world.says)
            }
            85..=89 => {
                good_permille = [0, 0, 30, 500][random.usize(..4)];
                continue;
            }
            90..=95 => {
                world.patch(&json!({"active": true}));
                world.model.enabled(world.now());
                "enabling".to_owned()
            }
            96 => {
                world.patch(&json!({"active": false}));
                world.model.disabled = world.model.disabled.or(Some("manual"));
                "disabling".to_owned()
            }
            _ => {
                restarts += 1;
                world.restart(random.bool());
                "a restart".to_owned()
            }
        };
        disabled += usize::from(was_disabled.is_none() && world.model.disabled == Some("dead_without_success_24h"));
        world.compare(&format!("step {number}, {step}, seed {seed}"));
    }
    let ended = world.model.ended.len();
    println!("{ended} deliveries, disabled {disabled} times, {} notices, {restarts} restarts", world.model.notices);
}
