//! Join tokens over a real store.

use quintet_storage::{Abort, Uuid};
use quintet_support::Bench;

use super::make::{NewInvite, make};
use super::{expire, find, redeem};
use crate::identity::Status;
use crate::identity::keys::{draw_token, token_place};
use crate::model::WorkspaceNo;
use crate::refusal::Refusal;
use crate::workspaces::{NewWorkspace, create, set_status};

fn bench() -> Bench<Refusal> {
    let bench: Bench<Refusal> = Bench::new(crate::TABLES, 1_764_000_000_000_000);
    let new = NewWorkspace { slug: "acme".to_owned(), name: None, tenant_id: Uuid::from_u128(7), is_encrypted: false };
    bench.run(move |tx, now| create(tx, now, new)).unwrap();
    bench
}

fn made(bench: &Bench<Refusal>) -> String {
    let (token, new) = (
        draw_token().expose().clone(),
        NewInvite {
            workspace: WorkspaceNo(1),
            key_id: "k".to_owned(),
            role: Some("builder".to_owned()),
            ttl_seconds: 60,
        },
    );
    let named = token.clone();
    bench.run(move |tx, now| Ok(make(tx, now, &named, new)?)).unwrap();
    token
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
    bench.run(|tx, _| set_status(tx, "acme", Status::Suspended)).unwrap();
    assert_eq!(redeemed(&bench, &token), Err(Refusal::Suspended));
    bench.run(|tx, _| set_status(tx, "acme", Status::Active)).unwrap();
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
    bench
        .run(move |tx, _| {
            expire(tx, place);
            Ok(())
        })
        .unwrap();
    assert_eq!(redeemed(&bench, &token), Err(Refusal::InvalidInvite));
}
