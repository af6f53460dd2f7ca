//! Join tokens over a real store.

use quintet_storage::{Abort, Read as _, Scan, Timestamp, Uuid};
use quintet_support::Bench;

use super::make::{NewInvite, OPEN_MAX, dead, make};
use super::tables::INVITES_BY_WORKSPACE;
use super::{expire, find, redeem};
use crate::identity::keys::{PreparedKey, draw_token, token_place};
use crate::identity::{Scope, Status};
use crate::keys::{NewKey, issue, revoke};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;
use crate::workspaces::{NewWorkspace, create, set_status};

fn bench() -> Bench<Refusal> {
    let bench: Bench<Refusal> = Bench::new(crate::TABLES, 1_764_000_000_000_000);
    let new = NewWorkspace { slug: "acme".to_owned(), name: None, tenant_id: Uuid::from_u128(7), is_encrypted: false };
    bench.run(move |tx, now| create(tx, now, new)).unwrap();
    let prepared = PreparedKey::draw().named(MAKERS_KEY.to_owned());
    let key = NewKey { prepared, scope: Scope::Full, agents: Vec::new(), label: String::new() };
    bench.run(move |tx, now| issue(tx, now, WorkspaceNo(1), key)).unwrap();
    bench
}

const MAKERS_KEY: &str = "abcdefghij";

fn new() -> NewInvite {
    NewInvite {
        workspace: WorkspaceNo(1),
        key_id: MAKERS_KEY.to_owned(),
        role: Some("builder".to_owned()),
        ttl_seconds: 60,
    }
}

fn made(bench: &Bench<Refusal>) -> String {
    let token = draw_token().expose().clone();
    let named = token.clone();
    bench.run(move |tx, now| make(tx, now, &named, new(), &[])).unwrap();
    token
}

fn findings(bench: &Bench<Refusal>) -> Vec<String> {
    let mut findings = Vec::new();
    super::verify(&bench.store.read(), &mut findings).unwrap();
    findings
}

fn redeemed(bench: &Bench<Refusal>, token: &str) -> Result<Option<String>, Refusal> {
    let token = token.to_owned();
    bench.run(move |tx, now| redeem(tx, now, &token)).map(|invite| invite.role)
}

#[test]
fn a_token_is_good_once() {
    let bench = bench();
    let token = made(&bench);
    let looked = find(&bench.store.read(), bench.now(), &token).unwrap();
    assert_eq!((looked.workspace.slug.as_str(), looked.role.as_deref()), ("acme", Some("builder")));
    assert_eq!(redeemed(&bench, &token), Ok(Some("builder".to_owned())));
    assert_eq!(redeemed(&bench, &token), Err(Refusal::InvalidInvite));
    for stranger in ["", "ab_jt_", draw_token().expose(), &token[1..], "ab_sk_0123456789_x"] {
        assert_eq!(redeemed(&bench, stranger), Err(Refusal::InvalidInvite), "{stranger:?}");
    }
    let another = made(&bench);
    assert!(find(&bench.store.read(), bench.now(), &another).is_ok(), "one more is as good as the first");
}

#[test]
fn what_is_refused_leaves_it_good() {
    let bench = bench();
    let token = made(&bench);
    let named = token.clone();
    let refused: Result<(), Refusal> = bench.run(move |tx, now| {
        redeem(tx, now, &named)?;
        Err(Abort::Refused(Refusal::NameTaken("a".to_owned())))
    });
    assert_eq!(refused, Err(Refusal::NameTaken("a".to_owned())));
    bench.run(|tx, now| set_status(tx, now, "acme", Status::Suspended)).unwrap();
    assert_eq!(redeemed(&bench, &token), Err(Refusal::Suspended));
    bench.run(|tx, now| set_status(tx, now, "acme", Status::Active)).unwrap();
    assert!(redeemed(&bench, &token).is_ok());
}

#[test]
fn its_time_ends() {
    let bench = bench();
    let token = made(&bench);
    bench.clock.advance(59);
    assert!(find(&bench.store.read(), bench.now(), &token).is_ok());
    bench.clock.advance(1);
    assert_eq!(redeemed(&bench, &token), Err(Refusal::InvalidInvite));
    let place = token_place(&quintet_platform::secrets::digest(token.as_bytes()));
    bench.run(move |tx, _| Ok(expire(tx, place)?)).unwrap();
    assert_eq!(redeemed(&bench, &token), Err(Refusal::InvalidInvite));
}

#[test]
fn it_goes_with_the_key_it_was_made_with() {
    let bench = bench();
    let token = made(&bench);
    bench.run(|tx, now| revoke(tx, now, None, MAKERS_KEY)).unwrap();
    assert_eq!(redeemed(&bench, &token), Err(Refusal::InvalidInvite));
}

#[test]
fn a_workspace_has_so_many_at_a_time() {
    let bench = bench();
    let first = made(&bench);
    bench
        .run(|tx, now| {
            for number in 1..OPEN_MAX {
                make(tx, now, &number.to_string(), new(), &[])?;
            }
            Ok(())
        })
        .unwrap();
    let more = || bench.run(|tx, now| make(tx, now, "one more", new(), &[]));
    assert_eq!(more(), Err(Refusal::LimitReached("invites", 1_000)));
    assert!(redeemed(&bench, &first).is_ok());
    more().unwrap();
    assert!(more().is_err());
    let place = token_place(&quintet_platform::secrets::digest(b"7"));
    bench.run(move |tx, _| Ok(expire(tx, place)?)).unwrap();
    assert_eq!(bench.run(|tx, now| make(tx, now, "another", new(), &[])), Ok(()));
    assert_eq!(findings(&bench), [""; 0]);
}

/// What a revoked key has made is good for nothing, and keeps nobody from making more: however little of it there is, it is
/// found.
#[test]
fn what_a_revoked_key_has_made_counts_only_while_there_is_room() {
    const DEAD: usize = 2;
    let bench = bench();
    let prepared = PreparedKey::draw().named("zbcdefghij".to_owned());
    let other = NewKey { prepared, scope: Scope::Full, agents: Vec::new(), label: String::new() };
    bench.run(move |tx, now| issue(tx, now, WorkspaceNo(1), other)).unwrap();
    let others = || NewInvite { key_id: "zbcdefghij".to_owned(), ..new() };
    bench
        .run(move |tx, now| {
            (0..DEAD).try_for_each(|number| make(tx, now, &format!("dead {number}"), new(), &[]))?;
            (DEAD..OPEN_MAX).try_for_each(|number| make(tx, now, &number.to_string(), others(), &[]))
        })
        .unwrap();
    let more = |token: &'static str| {
        let dead = dead(&bench.store.read(), WorkspaceNo(1)).unwrap();
        let found = dead.len();
        (found, bench.run(move |tx, now| make(tx, now, token, others(), &dead)))
    };
    let limit = || Err(Refusal::LimitReached("invites", 1_000));
    assert_eq!(more("one more"), (0, limit()));
    bench.run(|tx, now| revoke(tx, now, None, MAKERS_KEY)).unwrap();
    let gone = dead(&bench.store.read(), WorkspaceNo(1)).unwrap();
    assert_eq!((more("one more"), findings(&bench)), ((DEAD, Ok(())), Vec::new()));
    assert_eq!(more("another"), (0, Ok(())));
    assert_eq!(more("too many"), (0, limit()));
    let again = bench.run(move |tx, now| make(tx, now, "too many", others(), &gone));
    assert_eq!(again, limit(), "somebody else has had it forgotten");
    let open = bench.store.read().scan(&INVITES_BY_WORKSPACE, Scan::all()).unwrap();
    let due = crate::due::first(&bench.store.read(), (Timestamp::EPOCH, crate::due::Due::FIRST), 2 * OPEN_MAX).unwrap();
    assert_eq!((open.len(), due.len()), (OPEN_MAX, OPEN_MAX), "nothing falls due of what is gone");
}
