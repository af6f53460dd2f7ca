//! Every arrow between the states of a grant; grants against their indexes; how many there may be, how much is told of what
//! they confer, and what their rows were.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use quintet_platform::access::Caller;
use quintet_storage::{Abort, Read as _, Row as _, Snapshot, Uuid, encode_plain};

use super::bounds::By;
use super::create::{CreateGrant, create_grant, get_grant, list_grants};
use super::effective::{Extent, expanded};
use super::reconcile::{Places, round_of};
use super::revoke::{revoke_all_of, revoke_grant};
use super::settle::settle_grant;
use crate::access::{
    Action, FirstGrantRow, FirstIntentRow, GRANT_COUNTS, GRANTS, GRANTS_BY_PRINCIPAL, GRANTS_MAX, Grant, GrantId,
    GrantRow, GrantState, Granted, IntentState, IntentStep, MarkRow, Permits, REVOKED_GRANTS_MAX, Scope,
    TENANT_GRANTS_MAX, Wanted, intents_of, template, verify,
};
use crate::accounts::service_accounts::put_account;
use crate::audit::events_after;
use crate::authorization::{AuthorizationSystem, SystemFailure, ToldIntent};
use crate::principals::AccountId;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::get_project;
use crate::testing::{Bench, TENANT, actor, furnished};

const PRINCIPAL: Uuid = Uuid::from_u128(0xdef);

/// A tenant with a workspace, a project, and a service account.
fn bench() -> (Bench, Scope) {
    let (bench, _, project_id) = furnished();
    bench
        .run(|tx, now| Ok(put_account(tx, TENANT, AccountId(PRINCIPAL), ("a".into(), now), false).map(drop)?))
        .unwrap();
    bench
        .run(|tx, _| {
            let mut counts = tx.get(&crate::principals::COUNTS, &TENANT)?.unwrap_or_default();
            counts.active_accounts += 1;
            Ok(tx.put(&crate::principals::COUNTS, &TENANT, &counts)?)
        })
        .unwrap();
    (bench, Scope { project_id: Some(project_id), ..Scope::default() })
}

fn grant_of(bench: &Bench, name: &str, scope: &Scope, is_told: bool) -> Result<Grant, Refusal> {
    let template = template(name).unwrap();
    let command = CreateGrant { principal_id: PRINCIPAL, template, scope: scope.clone(), locale: Ok(None), is_told };
    bench.run(move |tx, now| create_grant(tx, now, &actor(TENANT), &By::Operator, command))
}

fn grant(bench: &Bench, name: &str, scope: &Scope, times: usize) -> Result<(), Refusal> {
    let template = template(name).unwrap();
    let command =
        CreateGrant { principal_id: PRINCIPAL, template, scope: scope.clone(), locale: Ok(None), is_told: false };
    bench.run(move |tx, now| {
        (0..times).try_for_each(|_| create_grant(tx, now, &actor(TENANT), &By::Operator, command.clone()).map(drop))
    })
}

fn revoke(bench: &Bench, id: GrantId) -> Grant {
    bench.run(move |tx, now| revoke_grant(tx, now, &actor(TENANT), &By::Operator, id)).unwrap()
}

fn step(bench: &Bench, id: GrantId, step: IntentStep) -> Grant {
    bench.run(move |tx, now| settle_grant(tx, now, &actor(TENANT), id, &[(0, step)])).unwrap()
}

fn granted(bench: &Bench) -> Granted {
    intents_of(&bench.store.read(), TENANT, PRINCIPAL).unwrap().into_iter().collect()
}

#[track_caller]
fn sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.store.read()), Ok(Vec::new()));
}

#[test]
fn every_arrow_between_the_states_of_a_grant() {
    use IntentStep::{Missing, Removed, Taken};
    // How each state is reached; what it becomes when it is revoked, taken, removed, missing.
    type Way = fn(&Bench, &Scope) -> GrantId;
    let ways: [(GrantState, Way); 6] = [
        (GrantState::Granted, |bench, scope| grant_of(bench, "viewer", scope, false).unwrap().grant_id),
        (GrantState::Granting, |bench, scope| grant_of(bench, "viewer", scope, true).unwrap().grant_id),
        (GrantState::Granted, |bench, scope| {
            let id = grant_of(bench, "viewer", scope, true).unwrap().grant_id;
            step(bench, id, Taken).grant_id
        }),
        (GrantState::Degraded, |bench, scope| {
            let id = grant_of(bench, "viewer", scope, true).unwrap().grant_id;
            step(bench, id, Taken);
            step(bench, id, Missing).grant_id
        }),
        (GrantState::Revoking, |bench, scope| {
            let id = grant_of(bench, "viewer", scope, true).unwrap().grant_id;
            revoke(bench, id).grant_id
        }),
        (GrantState::Revoked, |bench, scope| {
            let id = grant_of(bench, "viewer", scope, true).unwrap().grant_id;
            revoke(bench, id);
            step(bench, id, Removed).grant_id
        }),
    ];
    use GrantState::{Degraded, Granted as Holds, Granting, Revoked, Revoking};
    let expected = [
        // Nobody was told of the first; the third was taken.
        [Revoked, Holds, Holds, Degraded],
        [Revoking, Holds, Granting, Granting],
        [Revoking, Holds, Holds, Degraded],
        [Revoked, Degraded, Degraded, Degraded],
        [Revoking, Revoking, Revoked, Revoking],
        // What is taken when all is over is to be removed again.
        [Revoked, Revoking, Revoked, Revoked],
    ];
    for ((state, way), outcomes) in ways.into_iter().zip(expected) {
        for (place, outcome) in outcomes.into_iter().enumerate() {
            let (bench, scope) = bench();
            let id = way(&bench, &scope);
            let before = get_grant(&bench.store.read(), TENANT, id).unwrap();
            assert_eq!(before.state(), state);
            let after = match place {
                0 => revoke(&bench, id),
                1 => step(&bench, id, Taken),
                2 => step(&bench, id, Removed),
                _ => step(&bench, id, Missing),
            };
            assert_eq!(after.state(), outcome, "{state:?}, {place}");
            // What it confers is what is granted, and what is in force is the same.
            assert_eq!(after.permissions().is_empty(), outcome != Holds, "{state:?}, {place}");
            assert_eq!(granted(&bench).texts().is_empty(), outcome != Holds, "{state:?}, {place}");
            sound(&bench);
            let again = revoke(&bench, id);
            assert_eq!(revoke(&bench, id), again, "again: the same");
            sound(&bench);
        }
    }
    let (bench, scope) = bench();
    let id = grant_of(&bench, "viewer", &scope, true).unwrap().grant_id;
    step(&bench, id, Taken);
    step(&bench, id, Missing);
    revoke(&bench, id);
    let events = events_after(&bench.store.read(), TENANT, 0, 100).unwrap();
    let told: Vec<(&str, &str)> =
        events.iter().skip(5).map(|(_, row)| (row.action.as_str(), row.payload.as_str())).collect();
    assert_eq!(told[0].0, "grant.create");
    assert!(told[1].0 == "grant.settle" && told[1].1.contains(r#""from":"granting""#), "{told:?}");
    assert!(told[2].0 == "grant.settle" && told[2].1.contains(r#""to":"degraded""#), "{told:?}");
    assert_eq!((told[3].0, told.len()), ("grant.revoke", 4));
}

#[test]
fn indexes_and_counts_that_do_not_fit_are_found() {
    let (bench, scope) = bench();
    grant(&bench, "viewer", &scope, 1).unwrap();
    sound(&bench);
    let key = (TENANT, Uuid::nil(), GrantId(Uuid::nil()));
    bench.run(move |tx, _| Ok(tx.put(&GRANTS_BY_PRINCIPAL, &key, &MarkRow)?)).unwrap();
    let deed = bench.run(|tx, _| {
        let mut counts = tx.get(&GRANT_COUNTS, &TENANT)?.unwrap();
        counts.standing += 1;
        Ok(tx.put(&GRANT_COUNTS, &TENANT, &counts)?)
    });
    deed.unwrap();
    let id = list_grants(&bench.store.read(), TENANT).unwrap()[0].grant_id;
    let deed = bench.run(move |tx, _| {
        let mut row = tx.get(&GRANTS, &(TENANT, id))?.unwrap();
        row.intents[0].state = IntentState::Revoking;
        Ok(tx.put(&GRANTS, &(TENANT, id), &row)?)
    });
    deed.unwrap();
    let findings = verify(&bench.store.read()).unwrap().join("\n");
    for expected in
        ["in the index 2 times", "other grants than are counted", "as open as", "states that it cannot have"]
    {
        assert!(findings.contains(expected), "{expected}: {findings}");
    }
}

#[test]
fn there_are_so_many_grants_and_no_more() {
    let (bench, scope) = bench();
    grant(&bench, "viewer", &scope, GRANTS_MAX).unwrap();
    assert!(matches!(grant(&bench, "ci", &scope, 1), Err(Refusal::Conflict(_))));
    // Alike is granted once.
    assert_eq!(granted(&bench).texts().len(), 1);
    // One that is revoked makes room, and is listed still.
    let id = list_grants(&bench.store.read(), TENANT).unwrap()[0].grant_id;
    revoke(&bench, id);
    grant(&bench, "ci", &scope, 1).unwrap();
    assert_eq!(list_grants(&bench.store.read(), TENANT).unwrap().len(), GRANTS_MAX + 1);
    sound(&bench);
    let full = bench.run(|tx, _| {
        let mut counts = tx.get(&GRANT_COUNTS, &TENANT)?.unwrap();
        counts.standing = TENANT_GRANTS_MAX;
        Ok(tx.put(&GRANT_COUNTS, &TENANT, &counts)?)
    });
    full.unwrap();
    revoke(&bench, list_grants(&bench.store.read(), TENANT).unwrap()[1].grant_id);
    grant(&bench, "ci", &scope, 1).unwrap();
    assert!(matches!(grant(&bench, "ci", &scope, 1), Err(Refusal::Conflict(_))));
}

#[test]
fn of_revoked_grants_the_newest_are_kept() {
    let (bench, scope) = bench();
    let most = REVOKED_GRANTS_MAX as usize;
    for _ in 0..3 {
        grant(&bench, "viewer", &scope, GRANTS_MAX).unwrap();
        bench.run(|tx, now| Ok(revoke_all_of(tx, now, &actor(TENANT), PRINCIPAL)?)).unwrap();
    }
    grant(&bench, "viewer", &scope, 1).unwrap();
    let all = list_grants(&bench.store.read(), TENANT).unwrap();
    assert_eq!(all.len(), most + 1);
    assert!(granted(&bench).texts().len() == 1 && all[most].state() == GrantState::Granted);
    sound(&bench);
}

#[test]
fn grants_that_are_older_than_their_counts_are_counted() {
    let (bench, scope) = bench();
    grant(&bench, "viewer", &scope, 3).unwrap();
    bench
        .run(|tx, _| {
            tx.delete(&GRANT_COUNTS, &TENANT);
            Ok(())
        })
        .unwrap();
    sound(&bench);
    grant(&bench, "viewer", &scope, 1).unwrap();
    assert_eq!(bench.store.read().get(&GRANT_COUNTS, &TENANT).unwrap().unwrap().standing, 4);
    sound(&bench);
}

#[test]
fn a_row_of_the_first_version_is_the_operators_grant() {
    let first = FirstGrantRow {
        principal: PRINCIPAL.into_bytes(),
        template: "viewer".to_owned(),
        scope: Scope::default(),
        intents: vec![FirstIntentRow {
            target: "org".to_owned(),
            permissions: vec!["p_*_read".to_owned()],
            state: IntentState::Granted,
        }],
        created_at: quintet_storage::Timestamp::from_micros(7),
    };
    let row = GrantRow::migrate(1, &encode_plain(&first).unwrap()).unwrap();
    assert!(row.revoked_at.is_none() && !row.intents[0].is_told);
    let grant = row.into_grant(GrantId(Uuid::nil())).unwrap();
    assert_eq!((grant.state(), grant.permissions()), (GrantState::Granted, vec!["p_*_read"]));
    assert!(GrantRow::migrate(3, &[]).is_err());
}

#[test]
fn permissions_are_told_one_by_one_as_far_as_that_goes() {
    let (bench, _) = bench();
    grant(&bench, "org_admin", &Scope::default(), 1).unwrap();
    let granted = granted(&bench);
    let tell = |spaces, texts| {
        expanded(&bench.store.read(), TENANT, &granted, Extent { spaces, bytes: 1 << 20, texts }).unwrap()
    };
    let all = tell(10, 100).unwrap();
    assert_eq!(all.len(), 3 + 1 + 9);
    assert!(all.iter().all(|text| !text.contains('*')) && all.is_sorted(), "{all:?}");
    assert_eq!(tell(1, 100), None, "a workspace and a project are two");
    assert_eq!(tell(10, 5), None);
    assert!(granted.texts().contains(&"p_*_read".to_owned()));
}

/// An authorization system that has what it was told, and does what it is told to.
#[derive(Default)]
struct Tame {
    has: Mutex<HashSet<Uuid>>,
    failure: Mutex<Option<SystemFailure>>,
    asked: AtomicUsize,
}

impl Tame {
    fn answer<T>(&self, answer: impl FnOnce(&mut HashSet<Uuid>) -> T) -> Result<T, SystemFailure> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match *self.failure.lock().unwrap() {
            Some(failure) => Err(failure),
            None => Ok(answer(&mut self.has.lock().unwrap())),
        }
    }
}

impl AuthorizationSystem for Tame {
    fn is_told(&self) -> bool {
        true
    }

    fn put<'a>(&'a self, intent: &'a ToldIntent) -> BoxFuture<'a, Result<(), SystemFailure>> {
        let answer = self.answer(|has| has.insert(intent.intent_id)).map(drop);
        Box::pin(async move { answer })
    }

    fn delete(&self, _principal_id: Uuid, intent_id: Uuid) -> BoxFuture<'_, Result<(), SystemFailure>> {
        let answer = self.answer(|has| has.remove(&intent_id)).map(drop);
        Box::pin(async move { answer })
    }

    fn intents_of(&self, _principal_id: Uuid) -> BoxFuture<'_, Result<HashSet<Uuid>, SystemFailure>> {
        let answer = self.answer(|has| has.clone());
        Box::pin(async move { answer })
    }

    fn patience(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reconciler_settles_what_is_open_and_finds_what_is_missing() {
    let (bench, scope) = bench();
    let (system, mut places) = (Tame::default(), Places::default());
    let state = |id: GrantId| get_grant(&bench.store.read(), TENANT, id).unwrap().state();
    let operators = {
        grant(&bench, "viewer", &scope, 1).unwrap();
        list_grants(&bench.store.read(), TENANT).unwrap()[0].grant_id
    };
    let told: Vec<GrantId> = (0..3).map(|_| grant_of(&bench, "viewer", &scope, true).unwrap().grant_id).collect();
    let untold = grant_of(&bench, "viewer", &scope, false).unwrap().grant_id;
    // While it is away nothing changes, and it is asked once in a round.
    *system.failure.lock().unwrap() = Some(SystemFailure::Away);
    for round in 1..=3 {
        round_of(&bench.store, &system, &mut places).await.unwrap();
        assert_eq!(system.asked.load(Ordering::SeqCst), round, "one grant that is not settled is in nobody's way");
    }
    assert!(told.iter().all(|id| state(*id) == GrantState::Granting));
    // What it refuses stays as it is, and the others go on.
    *system.failure.lock().unwrap() = Some(SystemFailure::Refused(422));
    round_of(&bench.store, &system, &mut places).await.unwrap();
    assert!(told.iter().all(|id| state(*id) == GrantState::Granting));
    *system.failure.lock().unwrap() = None;
    for _ in 0..2 {
        round_of(&bench.store, &system, &mut places).await.unwrap();
    }
    assert!(told.iter().all(|id| state(*id) == GrantState::Granted));
    assert_eq!(system.has.lock().unwrap().len(), 3);
    revoke(&bench, told[0]);
    assert_eq!(state(told[0]), GrantState::Revoking);
    // Somebody removes one there: it is degraded here, and not granted again. The operator's, and one that it was never told
    // of, are not its business.
    system.has.lock().unwrap().remove(&told[1].0);
    for _ in 0..3 {
        round_of(&bench.store, &system, &mut places).await.unwrap();
        assert_eq!(state(told[0]), GrantState::Revoked);
        assert_eq!(state(told[1]), GrantState::Degraded);
        assert_eq!(state(told[2]), GrantState::Granted);
        assert_eq!((state(operators), state(untold)), (GrantState::Granted, GrantState::Granted));
        sound(&bench);
    }
    assert_eq!(*system.has.lock().unwrap(), HashSet::from([told[2].0]));
    // What it says makes no sense: nothing is missing for that.
    *system.failure.lock().unwrap() = Some(SystemFailure::Senseless);
    round_of(&bench.store, &system, &mut places).await.unwrap();
    assert_eq!(state(told[2]), GrantState::Granted);
    revoke(&bench, told[1]);
    *system.failure.lock().unwrap() = None;
    round_of(&bench.store, &system, &mut places).await.unwrap();
    assert_eq!(state(told[1]), GrantState::Revoked);
    sound(&bench);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_there_last_is_removed_again() {
    let (bench, scope) = bench();
    let (system, mut places) = (Tame::default(), Places::default());
    let state = |id: GrantId| get_grant(&bench.store.read(), TENANT, id).unwrap().state();
    let [lost, late] = [(); 2].map(|()| grant_of(&bench, "viewer", &scope, true).unwrap().grant_id);
    let operators = grant_of(&bench, "viewer", &scope, false).unwrap().grant_id;
    for id in [lost, late, operators] {
        revoke(&bench, id);
    }
    round_of(&bench.store, &system, &mut places).await.unwrap();
    assert!([lost, late, operators].into_iter().all(|id| state(id) == GrantState::Revoked));
    sound(&bench);
    // Nobody waited for the answer to what was told of one; that to the other comes when all is over.
    system.has.lock().unwrap().extend([lost.0, operators.0]);
    assert_eq!(step(&bench, late, IntentStep::Taken).state(), GrantState::Revoking);
    system.has.lock().unwrap().insert(late.0);
    sound(&bench);
    for _ in 0..3 {
        round_of(&bench.store, &system, &mut places).await.unwrap();
        sound(&bench);
    }
    assert!([lost, late, operators].into_iter().all(|id| state(id) == GrantState::Revoked));
    assert_eq!(
        *system.has.lock().unwrap(),
        HashSet::from([operators.0]),
        "what it was never told of is its own business"
    );
    assert_eq!(intents_of(&bench.store.read(), TENANT, PRINCIPAL).unwrap().len(), 0);
}

#[test]
fn whoever_is_gone_is_granted_nothing() {
    let (bench, scope) = bench();
    bench
        .run(|tx, now| {
            crate::accounts::service_accounts::revoke_account(tx, now, &actor(TENANT), AccountId(PRINCIPAL)).map(drop)
        })
        .unwrap();
    assert!(matches!(grant(&bench, "viewer", &scope, 1), Err(Refusal::NotFound)));
    let foreign = crate::testing::OTHER;
    let found = get_grant(&bench.store.read(), foreign, GrantId(Uuid::nil()));
    assert!(matches!(found, Err(Abort::Refused(Refusal::NotFound))));
}

#[test]
fn what_was_worked_out_of_grants_holds_until_one_of_them_is_another() {
    let (bench, scope) = bench();
    let caller = Caller {
        tenant_id: TENANT.0,
        root_tenant_id: TENANT.0,
        principal_id: PRINCIPAL,
        key_id: String::new(),
        permissions: Vec::new(),
        expires_at: None,
    };
    let shelf = Arc::new(Shelf::new(1 << 20));
    let read_project = |read: &Snapshot, permits: &Permits, wanted: &[Action]| {
        let project = get_project(read, TENANT, scope.project_id.unwrap()).unwrap();
        let wanted: Vec<_> = wanted.iter().map(|action| Wanted::InProject(project.place(), *action)).collect();
        permits.demand(read, &caller, &wanted).is_ok()
    };
    let may = |action| read_project(&bench.store.read(), &Permits::new(Arc::clone(&shelf)), &[action]);
    assert!(!may(Action::Read));
    let told = grant_of(&bench, "viewer", &scope, true).unwrap().grant_id;
    assert!(!may(Action::Read), "an authorization system has not taken it yet");
    step(&bench, told, IntentStep::Taken);
    let permits = Permits::new(Arc::clone(&shelf));
    assert!(may(Action::Read) && read_project(&bench.store.read(), &permits, &[Action::Release, Action::Read]));
    assert!(!may(Action::Release));
    let publisher = grant_of(&bench, "publisher", &scope, false).unwrap().grant_id;
    assert!(may(Action::Release));
    // What was permitted by one of two permissions goes on by the other.
    revoke(&bench, told);
    assert!(permits.demand_again(&bench.store.read(), &caller).is_ok());
    revoke(&bench, publisher);
    assert!(permits.demand_again(&bench.store.read(), &caller).is_err() && !may(Action::Release) && !may(Action::Read));
    sound(&bench);
}
