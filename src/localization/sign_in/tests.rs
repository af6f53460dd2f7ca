//! Whose session it becomes, in which tenant, and what the chain tells of it.

use quintet_platform::identity::{LoginKey, LoginKeys};
use quintet_platform::sessions::{AtProvider, Door, Marks, Origin, Session, SessionToken, SessionUses, find_session};
use quintet_storage::Uuid;

use super::arrive::{Arrival, Arrived, arrive};
use super::leave::leave;
use super::log_out::{LoggedOut, log_out};
use super::switch::switch;
use crate::accounts::members::{CreateMember, create_member, erase_member, remove_member};
use crate::audit::{Actor, ActorKind, events_after};
use crate::model::TenantId;
use crate::principals::{MarkKey, MemberId, MemberStatus, get_member};
use crate::refusal::Refusal;
use crate::testing::{Bench, OTHER, TENANT, actor, bench};

/// A bench with the key that sessions are found by.
struct Hall {
    bench: Bench,
    keys: LoginKeys,
    logins: std::cell::Cell<u128>,
}

impl Hall {
    fn open() -> Hall {
        let bench = bench();
        let keys = LoginKeys::new(bench.store.clone());
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(keys.get()).unwrap();
        Hall { bench, keys, logins: std::cell::Cell::new(0) }
    }

    fn key(&self) -> &LoginKey {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.keys.get()).unwrap()
    }

    fn invite(&self, tenant_id: TenantId, email: &str) -> MemberId {
        let command = CreateMember { email: email.to_owned(), display_name: None, mark_key: MarkKey::draw() };
        let made = self.bench.run(move |tx, now| create_member(tx, now, &actor(tenant_id), command));
        made.ok().unwrap().member_id
    }

    fn status(&self, tenant_id: TenantId, member_id: MemberId) -> MemberStatus {
        get_member(&self.bench.store.read(), tenant_id, member_id).unwrap().status
    }

    /// Somebody comes by a login of its own; what the browser holds then.
    fn come(&self, tenant_id: TenantId, origin: Origin, before: Option<Uuid>) -> (Arrived, String) {
        self.logins.set(self.logins.get() + 1);
        self.come_by(self.logins.get(), tenant_id, origin, before)
    }

    fn come_by(&self, login: u128, tenant_id: TenantId, origin: Origin, before: Option<Uuid>) -> (Arrived, String) {
        let (token, marks) = (SessionToken::draw(), Marks::of(self.key(), &origin));
        let (digest, request_id) = (token.digest(), "request-1".to_owned());
        let arrived = self.bench.run(move |tx, now| {
            let login_ends_at = now.plus_seconds(600);
            arrive(tx, now, Arrival { tenant_id, origin, marks, digest, login, login_ends_at, before, request_id })
        });
        let arrived = arrived.unwrap();
        let text = match &arrived {
            Arrived::Session(session) => token.text(session.session_id).expose().clone(),
            _ => String::new(),
        };
        (arrived, text)
    }

    #[track_caller]
    fn in_as(&self, tenant_id: TenantId, origin: Origin) -> (Session, String) {
        match self.come(tenant_id, origin, None) {
            (Arrived::Session(session), text) => (session, text),
            _ => panic!("nobody was let in"),
        }
    }

    fn is_in(&self, text: &str) -> bool {
        let uses = SessionUses::new(self.bench.store.clone());
        let now = quintet_storage::TimeSource::now(&*self.bench.clock);
        find_session(&self.bench.store.read(), &uses, Door::Localization, text, now).unwrap().is_some()
    }

    /// Each event of sessions and members: action, kind of actor, cause.
    fn told(&self, tenant_id: TenantId) -> Vec<String> {
        let events = events_after(&self.bench.store.read(), tenant_id, 0, 1_000).unwrap();
        let told = events.into_iter().map(|(_, row)| {
            let payload: serde_json::Value = serde_json::from_str(&row.payload).unwrap_or_default();
            let cause = payload["cause"].as_str().unwrap_or_default();
            format!("{} {} {cause}", row.action, row.actor_kind.name()).trim_end().to_owned()
        });
        told.collect()
    }

    #[track_caller]
    fn sound(&self) {
        assert_eq!(crate::verify(&self.bench.store.read()), Ok(Vec::new()));
    }
}

fn origin(subject: &str, email: Option<&str>) -> Origin {
    Origin {
        issuer: "https://login.example".to_owned(),
        subject: subject.to_owned(),
        provider_session: Some(format!("at-{subject}")),
        email: email.map(str::to_owned),
        id_token: "a.b.c".to_owned(),
    }
}

#[test]
fn the_first_sign_in_goes_by_the_address_and_later_ones_by_the_subject() {
    let hall = Hall::open();
    let zoe = hall.invite(TENANT, "Zoe@example.org");
    for stranger in [origin("zoe", None), origin("zoe", Some("max@example.org"))] {
        assert!(matches!(hall.come(TENANT, stranger, None).0, Arrived::NobodyHere));
    }
    assert_eq!(hall.status(TENANT, zoe), MemberStatus::Pending);
    let (session, text) = hall.in_as(TENANT, origin("zoe", Some("zoe@EXAMPLE.org")));
    assert_eq!((session.principal_id, session.tenant_id), (zoe.0, TENANT.0));
    assert_eq!(hall.status(TENANT, zoe), MemberStatus::Active);
    assert!(hall.is_in(&text));
    // From now on the address is nothing, and the subject everything.
    assert!(matches!(hall.come(TENANT, origin("eve", Some("zoe@example.org")), None).0, Arrived::NobodyHere));
    let other_issuer = Origin { issuer: "https://evil.example".to_owned(), ..origin("zoe", None) };
    assert!(matches!(hall.come(TENANT, other_issuer, None).0, Arrived::NobodyHere));
    assert_eq!(hall.in_as(TENANT, origin("zoe", Some("new@example.org"))).0.principal_id, zoe.0);
    assert_eq!(hall.in_as(TENANT, origin("zoe", None)).0.principal_id, zoe.0);
    assert!(matches!(hall.come(OTHER, origin("zoe", Some("zoe@example.org")), None).0, Arrived::NobodyHere));
    assert_eq!(
        hall.told(TENANT),
        [
            "member.create service_account",
            "member.activate member",
            "session.create member sign_in",
            "session.create member sign_in",
            "session.create member sign_in",
        ]
    );
    hall.sound();
}

#[test]
fn a_login_is_answered_once_whatever_came_of_it() {
    let hall = Hall::open();
    hall.invite(TENANT, "zoe@example.org");
    assert!(matches!(hall.come_by(99, TENANT, origin("eve", None), None).0, Arrived::NobodyHere));
    let again = origin("zoe", Some("zoe@example.org"));
    assert!(matches!(hall.come_by(99, TENANT, again.clone(), None).0, Arrived::Spent));
    assert!(matches!(hall.come_by(98, TENANT, again.clone(), None).0, Arrived::Session(_)));
    assert!(matches!(hall.come_by(98, TENANT, again, None).0, Arrived::Spent));
    hall.sound();
}

#[test]
fn a_new_login_ends_what_the_browser_held() {
    let hall = Hall::open();
    hall.invite(TENANT, "zoe@example.org");
    let (first, text) = hall.in_as(TENANT, origin("zoe", Some("zoe@example.org")));
    let (arrived, fresh) = hall.come(TENANT, origin("zoe", None), Some(first.session_id));
    assert!(matches!(arrived, Arrived::Session(_)));
    assert!(!hall.is_in(&text) && hall.is_in(&fresh) && text != fresh);
    assert!(hall.told(TENANT).contains(&"session.end member sign_in".to_owned()));
    hall.sound();
}

#[test]
fn whoever_is_removed_or_erased_is_out() {
    let hall = Hall::open();
    let zoe = hall.invite(TENANT, "zoe@example.org");
    let (_, text) = hall.in_as(TENANT, origin("zoe", Some("zoe@example.org")));
    hall.bench.run(move |tx, now| remove_member(tx, now, &actor(TENANT), zoe)).ok().unwrap();
    assert!(!hall.is_in(&text));
    assert!(matches!(hall.come(TENANT, origin("zoe", Some("zoe@example.org")), None).0, Arrived::NobodyHere));
    assert!(hall.told(TENANT).contains(&"session.end service_account removed".to_owned()));
    let max = hall.invite(TENANT, "max@example.org");
    let (_, text) = hall.in_as(TENANT, origin("max", Some("max@example.org")));
    hall.bench.run(move |tx, now| erase_member(tx, now, &actor(TENANT), max)).ok().unwrap();
    assert!(!hall.is_in(&text));
    hall.sound();
}

#[test]
fn another_tenant_knows_them_by_the_subject_or_waits_for_the_address() {
    let hall = Hall::open();
    hall.invite(TENANT, "zoe@example.org");
    let (session, text) = hall.in_as(TENANT, origin("zoe", Some("zoe@example.org")));
    let from = Actor { kind: ActorKind::Member, principal_id: session.principal_id, ..actor(TENANT) };
    let go = |from: &Actor, session_id: Uuid, to: TenantId| {
        let (token, from) = (SessionToken::draw(), from.clone());
        let digest = token.digest();
        let moved = hall.bench.run(move |tx, now| switch(tx, now, &from, session_id, to, digest));
        moved.map(|session| (token.text(session.session_id).expose().clone(), session))
    };
    assert_eq!(go(&from, session.session_id, OTHER).err(), Some(Refusal::NotMember));
    assert!(hall.is_in(&text), "a refused one changes nothing");
    let there = hall.invite(OTHER, "ZOE@example.org");
    hall.bench.clock.advance(3_000);
    let (fresh, moved) = go(&from, session.session_id, OTHER).unwrap();
    assert_eq!((moved.tenant_id, moved.principal_id, moved.ends_at), (OTHER.0, there.0, session.ends_at));
    assert_eq!(hall.status(OTHER, there), MemberStatus::Active);
    assert!(!hall.is_in(&text) && hall.is_in(&fresh));
    // Back, by the subject alone; the session that was left opens nothing.
    let there = Actor { kind: ActorKind::Member, principal_id: moved.principal_id, ..actor(OTHER) };
    assert_eq!(go(&from, session.session_id, OTHER).err().map(|refusal| refusal_status(&refusal)), Some(401));
    assert_eq!(go(&there, moved.session_id, TENANT).unwrap().1.principal_id, session.principal_id);
    assert!(hall.told(TENANT).contains(&"session.end member switch".to_owned()));
    assert!(hall.told(OTHER).contains(&"session.create member switch".to_owned()));
    hall.sound();
}

fn refusal_status(refusal: &Refusal) -> u16 {
    quintet_platform::service::ServiceRefusal::verdict(refusal).status
}

#[test]
fn whoever_signs_out_is_out_once() {
    let hall = Hall::open();
    hall.invite(TENANT, "zoe@example.org");
    let (session, text) = hall.in_as(TENANT, origin("zoe", Some("zoe@example.org")));
    let out = || {
        let from = Actor { kind: ActorKind::Member, principal_id: session.principal_id, ..actor(TENANT) };
        hall.bench.run(move |tx, now| leave(tx, now, &from, session.session_id))
    };
    assert_eq!(out(), Ok(()));
    assert_eq!(out().map_err(|refusal| refusal_status(&refusal)), Err(401));
    assert!(!hall.is_in(&text));
    assert!(hall.told(TENANT).contains(&"session.end member logout".to_owned()));
    hall.sound();
}

#[test]
fn the_provider_ends_what_it_names_in_all_tenants_and_once() {
    let hall = Hall::open();
    let tenants = [TENANT, OTHER, TenantId(Uuid::from_u128(9))];
    for tenant_id in tenants {
        hall.invite(tenant_id, "zoe@example.org");
    }
    let zoe = || origin("zoe", Some("zoe@example.org"));
    // More than one transaction ends.
    let texts: Vec<String> = (0..120)
        .map(|number| {
            let there = Origin { provider_session: Some(format!("s{number}")), ..zoe() };
            hall.in_as(tenants[number % 3], there).1
        })
        .collect();
    let live = |hall: &Hall| texts.iter().filter(|text| hall.is_in(text)).count();
    assert_eq!(live(&hall), 120);
    let named = |hall: &Hall, session: Option<&str>| {
        let token = quintet_platform::identity::LogoutToken {
            subject: Some("zoe".to_owned()),
            session: session.map(str::to_owned),
            token_name: "j".to_owned(),
            ends_at: quintet_storage::Timestamp::EPOCH,
        };
        AtProvider::of(hall.key(), "https://login.example", &token).unwrap()
    };
    // Names that no login of this test has.
    let out = |token: u128, session: Option<&str>| {
        let named = named(&hall, session);
        hall.bench.run(move |tx, now| log_out(tx, now, named, token, now.plus_seconds(60), "r")).unwrap()
    };
    // Names of logins count up from 1.
    let (token, another) = (1 << 64, 1 << 65);
    assert_eq!(out(token, Some("s119")), LoggedOut { revoked: 1, is_done: true });
    assert_eq!(out(token, None), LoggedOut { revoked: 0, is_done: true }, "the token was taken before");
    let mut revoked = 0;
    loop {
        let done = out(another, None);
        revoked += done.revoked;
        if done.is_done {
            break;
        }
    }
    assert_eq!((revoked, live(&hall)), (119, 0));
    assert!(hall.told(OTHER).contains(&"session.end system provider".to_owned()));
    hall.sound();
}
