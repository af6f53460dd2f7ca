//! One pull for all who want an image, and whose turn it is.
//!
//! Names and passwords of registries are the operator's, one for each registry: whoever may have a run of an image may
//! share its pull, and what was pulled is there for all. Which images a key may run is asked when a run is submitted.
//! That a registry is slow is felt by those alone who pull from it: a tenant waits for two pulls at a time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quintet_runtime::{ImageInfo, ImportTerms, Refusal, Runner, RunnerError};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::model::{Progress, PullError};
use super::pull::Puller;
use super::reference::Reference;
use crate::model::TenantId;

/// Pulls that a tenant waits for at a time.
const PULLS_OF_A_TENANT: usize = 2;
/// Pulls at a time in all; each has a thread of its own.
const PULLS: usize = 256;

/// What a pull came to, for all who wait for it.
pub(crate) type Pulled = Result<ImageInfo, Arc<PullError>>;

/// The pulls of a process.
#[derive(Debug)]
pub(crate) struct SharedPulls {
    puller: Arc<Puller>,
    runner: Runner,
    desk: Mutex<Desk<Work>>,
}

/// A pull that has begun.
#[derive(Clone, Debug, Default)]
struct Work(Arc<WorkParts>);

#[derive(Debug, Default)]
struct WorkParts {
    is_cancelled: AtomicBool,
    is_unpacking: AtomicBool,
    /// It was not there already.
    is_brought: AtomicBool,
    outcome: watch::Sender<Option<Pulled>>,
}

impl Work {
    async fn pulled(&self) -> Pulled {
        let mut outcome = self.0.outcome.subscribe();
        let pulled = outcome.wait_for(Option::is_some).await.ok().and_then(|pulled| pulled.clone());
        pulled.unwrap_or_else(|| Err(lost()))
    }
}

fn lost() -> Arc<PullError> {
    Arc::new(PullError::Local(io::Error::other("the pull came to nothing")))
}

/// Somebody who waits for an image. Leaving calls its pull off if nobody else waits for it.
struct Waiter<'a> {
    pulls: &'a Arc<SharedPulls>,
    number: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let left = self.pulls.desk().leave(self.number);
        match left {
            Left::Nothing => {}
            Left::Last(work) => work.0.is_cancelled.store(true, Ordering::Relaxed),
            Left::Others => self.pulls.begin(),
        }
    }
}

/// However the thread of a pull ends, those that wait go on.
struct End {
    pulls: Arc<SharedPulls>,
    name: String,
    work: Work,
    pulled: Pulled,
}

impl Drop for End {
    fn drop(&mut self) {
        let is_called_off = self.pulls.desk().over(&self.name);
        // Told once it is over: whoever asks again does not join it.
        self.work.0.outcome.send_replace(Some(self.pulled.clone()));
        // What others have brought meanwhile, or an operator has imported, is theirs.
        let is_brought = self.work.0.is_brought.load(Ordering::Relaxed);
        if is_called_off && is_brought && self.pulled.as_ref().is_ok_and(|image| image.is_pulled) {
            self.pulls.let_go(&self.name);
        }
        self.pulls.begin();
    }
}

impl SharedPulls {
    pub(crate) fn new(puller: Arc<Puller>, runner: Runner) -> Arc<SharedPulls> {
        Arc::new(SharedPulls { puller, runner, desk: Mutex::new(Desk::new(PULLS, PULLS_OF_A_TENANT)) })
    }

    fn desk(&self) -> MutexGuard<'_, Desk<Work>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an image to be pulled, on these terms if nobody pulls it yet; until then at most, and one that has
    /// arrived by then is unpacked in any case. Whoever drops this waits no more.
    ///
    /// # Errors
    /// See [`PullError`].
    pub(crate) async fn pull(
        self: &Arc<Self>,
        tenant_id: TenantId,
        reference: &Reference,
        terms: &ImportTerms,
        until: Instant,
    ) -> Pulled {
        loop {
            let (pulled, is_own) = self.pull_once(tenant_id, reference, terms, until).await;
            let is_others = match pulled.as_ref().err().map(|error| &**error) {
                // Only for those who had waited longer.
                Some(PullError::TooLong) => true,
                // Only in the room that another tenant has.
                Some(PullError::TooLarge(_)) => !is_own,
                _ => false,
            };
            if !is_others || Instant::now() >= until {
                return pulled;
            }
        }
    }

    /// What a pull came to, and whether it was on this tenant's terms.
    async fn pull_once(
        self: &Arc<Self>,
        tenant_id: TenantId,
        reference: &Reference,
        terms: &ImportTerms,
        until: Instant,
    ) -> (Pulled, bool) {
        let too_long = (Err(Arc::new(PullError::TooLong)), true);
        let (number, admitted) = self.desk().come(tenant_id, reference, terms);
        let _waiter = Waiter { pulls: self, number };
        self.begin();
        let Ok(Ok((work, begun_by))) = timeout_at(until, admitted).await else { return too_long };
        let pulled = match timeout_at(until, work.pulled()).await {
            Ok(pulled) => pulled,
            Err(_) if work.0.is_unpacking.load(Ordering::Relaxed) => work.pulled().await,
            Err(_) => return too_long,
        };
        (pulled, begun_by == tenant_id)
    }

    /// Begins the pulls whose turn has come.
    fn begin(self: &Arc<Self>) {
        let begun = self.desk().admit();
        for (reference, terms, work) in begun {
            let mut end = End { pulls: Arc::clone(self), name: reference.to_string(), work, pulled: Err(lost()) };
            let pull = move || end.pulled = end.pulls.pull_now(&reference, &terms, &end.work).map_err(Arc::new);
            if let Err(error) = std::thread::Builder::new().name("pull".into()).spawn(pull) {
                tracing::error!(%error, "an image cannot be pulled");
            }
        }
    }

    fn pull_now(&self, reference: &Reference, terms: &ImportTerms, work: &Work) -> Result<ImageInfo, PullError> {
        let name = reference.to_string();
        // It may have come while this one waited for its turn.
        if let Some(found) = self.runner.image(&name)? {
            return Ok(found);
        }
        work.0.is_brought.store(true, Ordering::Relaxed);
        let tell = |progress| work.0.is_unpacking.store(progress == Progress::Unpacking, Ordering::Relaxed);
        self.puller.pull_on(&self.runner, reference, terms, &work.0.is_cancelled, &tell)
    }

    /// An image whose pull was called off too late is here for nobody. What it shares with others stays.
    fn let_go(&self, name: &str) {
        match self.runner.remove_image(name) {
            Ok(()) | Err(RunnerError::Refused(Refusal::ImageInUse | Refusal::NoSuchImage)) => {}
            Err(error) => tracing::warn!(%error, name, "an image that nobody waits for could not be removed"),
        }
    }
}

/// Who waits for which image, and which pulls there are. Nothing here takes time.
#[derive(Debug)]
struct Desk<W> {
    most: usize,
    most_of_a_tenant: usize,
    count: u64,
    /// Those whose turn has not come, in the order in which they came.
    waiting: BTreeMap<u64, Waiting<W>>,
    /// What the others wait for.
    names: HashMap<u64, String>,
    pulls: HashMap<String, Pull<W>>,
}

/// A pull, and the tenant on whose terms it is.
type Admitted<W> = (W, TenantId);

#[derive(Debug)]
struct Waiting<W> {
    tenant_id: TenantId,
    reference: Reference,
    terms: ImportTerms,
    admitted: oneshot::Sender<Admitted<W>>,
}

#[derive(Debug)]
struct Pull<W> {
    work: W,
    begun_by: TenantId,
    waiters: HashMap<u64, TenantId>,
    /// It was called off, and is this tenant's until it is over.
    called_off: Option<TenantId>,
}

/// What it meant that somebody left.
#[derive(Debug, PartialEq, Eq)]
enum Left<W> {
    /// Nothing to anybody.
    Nothing,
    /// Others still wait for the pull.
    Others,
    /// Nobody does: this is called off.
    Last(W),
}

impl<W: Clone + Default> Desk<W> {
    fn new(most: usize, most_of_a_tenant: usize) -> Desk<W> {
        let (waiting, names, pulls) = (BTreeMap::new(), HashMap::new(), HashMap::new());
        Desk { most, most_of_a_tenant, count: 0, waiting, names, pulls }
    }

    /// Somebody wants an image.
    fn come(
        &mut self,
        tenant_id: TenantId,
        reference: &Reference,
        terms: &ImportTerms,
    ) -> (u64, oneshot::Receiver<Admitted<W>>) {
        let (admitted, receiver) = oneshot::channel();
        self.count += 1;
        let (reference, terms) = (reference.clone(), terms.clone());
        self.waiting.insert(self.count, Waiting { tenant_id, reference, terms, admitted });
        (self.count, receiver)
    }

    /// Lets everybody to a pull whose turn it is; those of them that have to be begun. A tenant waits for so many pulls
    /// and no more, whoever began them. One that was called off and is not over yet is not joined.
    fn admit(&mut self) -> Vec<(Reference, ImportTerms, W)> {
        let mut pulls_of: HashMap<TenantId, usize> = HashMap::new();
        for pull in self.pulls.values() {
            let tenants: HashSet<TenantId> = pull.waiters.values().copied().chain(pull.called_off).collect();
            for tenant_id in tenants {
                *pulls_of.entry(tenant_id).or_default() += 1;
            }
        }
        let mut begun = Vec::new();
        let numbers: Vec<u64> = self.waiting.keys().copied().collect();
        for number in numbers {
            let Some(waiting) = self.waiting.get(&number) else { continue };
            let (tenant_id, name) = (waiting.tenant_id, waiting.reference.to_string());
            let has_room = pulls_of.get(&tenant_id).copied().unwrap_or(0) < self.most_of_a_tenant;
            let found = self.pulls.get(&name);
            let waits_for_it = found.is_some_and(|pull| pull.waiters.values().any(|other| *other == tenant_id));
            let is_turn = match found {
                Some(pull) => pull.called_off.is_none() && (has_room || waits_for_it),
                None => has_room && self.pulls.len() < self.most,
            };
            let Some(waiting) = is_turn.then(|| self.waiting.remove(&number)).flatten() else { continue };
            if !waits_for_it {
                *pulls_of.entry(tenant_id).or_default() += 1;
            }
            let pull = self.pulls.entry(name.clone()).or_insert_with(|| {
                let work = W::default();
                begun.push((waiting.reference, waiting.terms, work.clone()));
                Pull { work, begun_by: tenant_id, waiters: HashMap::new(), called_off: None }
            });
            pull.waiters.insert(number, tenant_id);
            self.names.insert(number, name);
            // Whoever has gone meanwhile leaves by its number.
            let _ = waiting.admitted.send((pull.work.clone(), pull.begun_by));
        }
        begun
    }

    /// Somebody waits no more.
    fn leave(&mut self, number: u64) -> Left<W> {
        self.waiting.remove(&number);
        let Some(name) = self.names.remove(&number) else { return Left::Nothing };
        let Some(pull) = self.pulls.get_mut(&name) else { return Left::Nothing };
        match pull.waiters.remove(&number) {
            Some(tenant_id) if pull.waiters.is_empty() => {
                pull.called_off = Some(tenant_id);
                Left::Last(pull.work.clone())
            }
            Some(_) => Left::Others,
            // It waited for an earlier one of this name.
            None => Left::Nothing,
        }
    }

    /// A pull has ended; whether it was called off.
    fn over(&mut self, name: &str) -> bool {
        self.pulls.remove(name).is_some_and(|pull| pull.called_off.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tenant;

    type TestDesk = Desk<Arc<()>>;

    fn named(name: &str) -> Reference {
        Reference::parse(name).unwrap()
    }

    /// Somebody of this tenant comes for this image; the number, and what is begun for it.
    fn comes(desk: &mut TestDesk, number: u128, name: &str) -> (u64, usize) {
        let (seat, _) = desk.come(tenant(number), &named(name), &ImportTerms::default());
        (seat, desk.admit().len())
    }

    fn full(name: &str) -> String {
        named(name).to_string()
    }

    #[test]
    fn one_pull_serves_all_who_want_the_image() {
        let mut desk = TestDesk::new(9, 2);
        let (first, begun) = comes(&mut desk, 1, "busybox");
        assert_eq!(begun, 1);
        let (second, begun) = comes(&mut desk, 2, "docker.io/library/busybox:latest");
        assert_eq!((begun, desk.pulls.len()), (0, 1), "by another name");
        assert_eq!(comes(&mut desk, 1, "busybox:other").1, 1);
        // It goes on for whoever is left.
        assert_eq!(desk.leave(first), Left::Others);
        assert!(matches!(desk.leave(second), Left::Last(_)));
        assert_eq!(desk.leave(second), Left::Nothing);
        // One that was called off is nobody's; another one follows once it is over.
        let (third, begun) = comes(&mut desk, 3, "busybox");
        assert_eq!((begun, desk.names.contains_key(&third)), (0, false));
        assert!(desk.over(&full("busybox")));
        assert_eq!(desk.admit().len(), 1);
        assert!(desk.names.contains_key(&third));
        // Who waited for what is over does not call the next one off.
        assert!(!desk.over(&full("busybox")));
        assert_eq!(comes(&mut desk, 1, "busybox").1, 1);
        assert_eq!(desk.leave(third), Left::Nothing);
    }

    #[test]
    fn a_tenant_waits_for_two_pulls_at_a_time_whoever_began_them() {
        let mut desk = TestDesk::new(5, 2);
        let mine: Vec<u64> = ["a", "b", "c", "d"].map(|name| comes(&mut desk, 1, name).0).to_vec();
        assert_eq!(desk.pulls.len(), 2);
        assert_eq!(comes(&mut desk, 2, "e").1, 1, "others are not held");
        assert_eq!(comes(&mut desk, 2, "a").1, 0, "it joins");
        let (late, begun) = comes(&mut desk, 2, "c");
        assert_eq!((begun, desk.names.contains_key(&late)), (0, false), "these are its two");
        // Another run for one of them has room.
        let (same, _) = comes(&mut desk, 1, "b");
        assert!(desk.names.contains_key(&same));
        // What only others wait for now is not this tenant's any more.
        assert_eq!(desk.leave(mine[0]), Left::Others);
        assert_eq!(desk.admit().len(), 1, "its third");
        // A pull that was called off counts until it is over.
        assert!(matches!(desk.leave(mine[2]), Left::Last(_)));
        assert_eq!(desk.admit().len(), 0);
        desk.over(&full("c"));
        assert_eq!(desk.admit().len(), 1, "its fourth");
    }

    #[test]
    fn pulls_are_bounded_in_all() {
        let mut desk = TestDesk::new(3, 2);
        for number in 1..=9 {
            comes(&mut desk, number, &format!("image{number}"));
        }
        assert_eq!((desk.pulls.len(), desk.waiting.len()), (3, 6));
        desk.over(&full("image2"));
        let begun = desk.admit();
        assert_eq!(begun.iter().map(|(reference, ..)| reference.to_string()).collect::<Vec<_>>(), [full("image4")]);
    }

    #[test]
    fn whoever_comes_and_goes_nothing_is_left_and_nobody_waits_for_nothing() {
        let mut random = fastrand::Rng::with_seed(17);
        let mut desk = TestDesk::new(4, 2);
        let mut here: Vec<(u64, u128)> = Vec::new();
        for step in 0..5_000 {
            let is_draining = step > 4_000;
            match random.u8(..4) {
                0 | 1 if !is_draining => {
                    let number = random.u128(1..4);
                    let (seat, _) =
                        desk.come(tenant(number), &named(&format!("image{}", random.u8(..6))), &ImportTerms::default());
                    here.push((seat, number));
                }
                2 if !here.is_empty() => {
                    let (seat, _) = here.swap_remove(random.usize(..here.len()));
                    desk.leave(seat);
                }
                _ => {
                    let mut names: Vec<String> = desk.pulls.keys().cloned().collect();
                    names.sort();
                    if let Some(name) = random.choice(names) {
                        desk.over(&name);
                    }
                }
            }
            desk.admit();
            assert!(desk.pulls.len() <= 4);
            for number in 1..4 {
                let of_it = |pull: &&Pull<_>| pull.waiters.values().any(|other| *other == tenant(number));
                let pulls = desk.pulls.values().filter(of_it).count();
                assert!(pulls <= 2);
                let is_called_off = desk.pulls.values().any(|pull| pull.called_off.is_some());
                let waits = desk.waiting.values().any(|waiting| waiting.tenant_id == tenant(number));
                assert!(!waits || is_called_off || pulls == 2 || desk.pulls.len() == 4, "a turn is not taken");
            }
            for (name, pull) in &desk.pulls {
                assert!(pull.waiters.is_empty() == pull.called_off.is_some(), "{name}");
            }
        }
        for (seat, _) in here {
            desk.leave(seat);
        }
        assert!(desk.waiting.is_empty() && desk.names.is_empty());
    }
}
