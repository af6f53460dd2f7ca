//! Sessions: who is let in, until when, and what ends them.

use std::time::{Duration, Instant};

use quintet_storage::seal::{self, KeyOwner};
use quintet_storage::{Abort, Failure, Read as _, Timestamp, Uuid, WriteTx};

use super::model::IDLE_SECONDS;
use super::tables::{SESSION_ORIGINS, SESSIONS, SESSIONS_BY_END, SESSIONS_BY_NAME, SESSIONS_BY_PRINCIPAL, SessionRow};
use super::{
    AtProvider, Door, LIFE_SECONDS, Marks, NewSession, Origin, SESSIONS_MAX, Session, SessionEnds, SessionToken,
    SessionUses, create_session, end_session, end_sessions_at_provider, end_sessions_of, find_session, list_sessions,
    move_session, origin_of,
};
use crate::access::{CreateTenant, Services, create_tenant};
use crate::jobs::{Agenda as _, Job as _, Progress};
use crate::testing::TestStore;

/// A full hour.
const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000 / 3_600_000_000 * 3_600_000_000);

fn at(seconds: i64) -> Timestamp {
    START.plus_seconds(seconds)
}

fn write<T: Send + 'static, R: Send + std::fmt::Debug + 'static>(
    test: &TestStore,
    verb: impl FnOnce(&mut WriteTx<'_>) -> Result<T, Abort<R>> + Send + 'static,
) -> T {
    test.store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, _| verb(tx)).unwrap()
}

fn end(
    test: &TestStore,
    verb: impl FnOnce(&mut WriteTx<'_>) -> Result<Vec<Session>, Failure> + Send + 'static,
) -> usize {
    write(test, move |tx| verb(tx).map_err(Abort::<std::convert::Infallible>::Failed)).len()
}

/// A tenant in which sessions can be.
fn tenant(test: &TestStore) -> Uuid {
    let command = CreateTenant { id: None, name: "t".to_owned(), services: Services::ALL, parent: None };
    write(test, move |tx| create_tenant(tx, START, command)).tenant_id
}

fn origin(subject: &str, session: Option<&str>) -> Origin {
    Origin {
        issuer: "https://login.example".to_owned(),
        subject: subject.to_owned(),
        provider_session: session.map(str::to_owned),
        email: Some(format!("{subject}@example.org")),
        id_token: "a.b.c".to_owned(),
    }
}

/// Marks, as good as those under a key.
fn marks(origin: &Origin) -> Marks {
    let mark = |text: &str| text.bytes().fold(7, |mark: u128, byte| mark * 257 + u128::from(byte));
    Marks { subject: mark(&origin.subject), provider_session: origin.provider_session.as_deref().map(mark) }
}

/// A session that begins at the start, and what its browser holds.
fn begin(test: &TestStore, door: Door, tenant_id: Uuid, principal: u128, origin: Origin) -> (Session, String) {
    let token = SessionToken::draw();
    let new = NewSession {
        door,
        tenant_id,
        principal_id: Uuid::from_u128(principal),
        digest: token.digest(),
        marks: marks(&origin),
        origin,
        ends_at: at(LIFE_SECONDS),
    };
    let made = write(test, move |tx| create_session(tx, START, new));
    let text = token.text(made.session.session_id).expose().clone();
    (made.session, text)
}

fn found(test: &TestStore, uses: &SessionUses, text: &str, seconds: i64) -> Option<Session> {
    find_session(&test.store.read(), uses, Door::Localization, text, at(seconds)).unwrap()
}

#[track_caller]
fn sound(test: &TestStore) {
    assert_eq!(crate::verify(&test.store.read()), Ok(Vec::new()));
}

#[test]
fn a_token_lets_in_where_it_is_for_and_nothing_else_does() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let tenant_id = tenant(&test);
    let (session, text) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", Some("s")));
    let (other, _) = begin(&test, Door::Localization, tenant_id, 2, origin("max", None));
    assert_eq!(found(&test, &uses, &text, 1), Some(session.clone()));
    let at_the_console = find_session(&test.store.read(), &uses, Door::Console, &text, at(1));
    assert_eq!(at_the_console, Ok(None), "another door");
    // The id of another session with this secret, a secret that is nobody's, and texts that are no tokens.
    let secret = data_encoding::BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()[16..].to_vec();
    let joined = |id: Uuid, secret: &[u8]| data_encoding::BASE64URL_NOPAD.encode(&[id.as_bytes(), secret].concat());
    let mut wrong = text.clone().into_bytes();
    wrong[30] = if wrong[30] == b'A' { b'B' } else { b'A' };
    for bad in [
        joined(other.session_id, &secret),
        joined(Uuid::nil(), &secret),
        joined(session.session_id, &[0; 32]),
        String::from_utf8(wrong).unwrap(),
        String::new(),
        text[1..].to_owned(),
        format!("{text}A"),
        format!("{text}="),
        session.session_id.to_string(),
        "\u{e9}".repeat(32),
    ] {
        assert_eq!(found(&test, &uses, &bad, 1), None, "{bad}");
    }
    let told = origin_of(&test.store.read(), session.session_id).unwrap();
    assert!(told == Some(origin("zoe", Some("s"))));
    sound(&test);
}

#[test]
fn it_ends_after_twelve_hours_and_after_one_without_a_request() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let tenant_id = tenant(&test);
    let (session, text) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", None));
    let is_in = |seconds: i64| found(&test, &uses, &text, seconds).is_some();
    assert!(is_in(IDLE_SECONDS - 1) && !is_in(IDLE_SECONDS), "an hour after it began");
    let mut used = 0;
    while used + IDLE_SECONDS < LIFE_SECONDS {
        uses.note(session.session_id, at(used));
        assert!(is_in(used + IDLE_SECONDS - 1) && !is_in(used + IDLE_SECONDS), "an hour after the last request");
        used += IDLE_SECONDS - 1;
    }
    uses.note(session.session_id, at(LIFE_SECONDS - 1));
    assert!(is_in(LIFE_SECONDS - 1) && !is_in(LIFE_SECONDS), "twelve hours, whatever was asked");
}

#[tokio::test]
async fn a_use_outlives_a_restart_by_the_minute() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let tenant_id = tenant(&test);
    let (session, text) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", None));
    assert_eq!(uses.next_due(), Ok(None));
    assert!(uses.note(session.session_id, at(3_000)) && !uses.note(session.session_id, at(3_050)));
    uses.note(Uuid::nil(), at(3_000));
    assert_eq!(uses.next_due(), Ok(Some(at(3_060))));
    assert_eq!(uses.slice().await, Ok(Progress::Rest));
    assert_eq!(uses.next_due(), Ok(None));
    let fresh = SessionUses::new(test.store.clone());
    assert!(found(&test, &fresh, &text, 3_050 + IDLE_SECONDS - 1).is_some());
    assert!(found(&test, &fresh, &text, 3_050 + IDLE_SECONDS).is_none());
    sound(&test);
}

#[test]
fn what_is_ended_opens_nothing_and_leaves_nothing_behind() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let tenant_id = tenant(&test);
    let (first, text) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", Some("s")));
    let (_, second) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", None));
    let (_, of_other) = begin(&test, Door::Localization, tenant_id, 2, origin("max", None));
    begin(&test, Door::Console, tenant_id, 1, origin("zoe", None));
    let id = first.session_id;
    let ended = write(&test, move |tx| end_session(tx, id).map_err(Abort::<std::convert::Infallible>::Failed));
    assert_eq!(ended, Some(first));
    let again = write(&test, move |tx| end_session(tx, id).map_err(Abort::<std::convert::Infallible>::Failed));
    assert_eq!(again, None);
    assert!(found(&test, &uses, &text, 1).is_none() && found(&test, &uses, &second, 1).is_some());
    sound(&test);
    // The member is removed: behind every door.
    assert_eq!(end(&test, move |tx| end_sessions_of(tx, tenant_id, Uuid::from_u128(1))), 2);
    assert!(found(&test, &uses, &second, 1).is_none() && found(&test, &uses, &of_other, 1).is_some());
    sound(&test);
}

#[test]
fn the_provider_names_a_subject_or_a_session_of_its_own() {
    let test = TestStore::open(START);
    let (one, other) = (tenant(&test), tenant(&test));
    let zoe = origin("zoe", Some("s1"));
    begin(&test, Door::Localization, one, 1, zoe.clone());
    begin(&test, Door::Localization, other, 2, origin("zoe", Some("s2")));
    begin(&test, Door::Console, other, 2, zoe.clone());
    begin(&test, Door::Localization, one, 3, origin("max", Some("s3")));
    let (of_zoe, of_max) = (marks(&zoe), marks(&origin("max", Some("s3"))));
    let s1 = of_zoe.provider_session.unwrap();
    let wrong = AtProvider::Session { session: s1, subject: Some(of_max.subject) };
    assert_eq!(end(&test, move |tx| end_sessions_at_provider(tx, wrong, 9)), 0, "it is another one's");
    let session = AtProvider::Session { session: s1, subject: Some(of_zoe.subject) };
    assert_eq!(end(&test, move |tx| end_sessions_at_provider(tx, session, 1)), 1, "no more than asked for");
    assert_eq!(end(&test, move |tx| end_sessions_at_provider(tx, session, 9)), 1);
    let subject = AtProvider::Subject(of_zoe.subject);
    assert_eq!(end(&test, move |tx| end_sessions_at_provider(tx, subject, 9)), 1, "in all tenants");
    let max = AtProvider::Session { session: of_max.provider_session.unwrap(), subject: None };
    assert_eq!(end(&test, move |tx| end_sessions_at_provider(tx, max, 9)), 1);
    sound(&test);
}

#[test]
fn another_one_than_there_may_be_ends_the_oldest() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let tenant_id = tenant(&test);
    let (_, at_console) = begin(&test, Door::Console, tenant_id, 1, origin("zoe", None));
    let texts: Vec<String> =
        (0..=SESSIONS_MAX).map(|_| begin(&test, Door::Localization, tenant_id, 1, origin("zoe", None)).1).collect();
    assert!(found(&test, &uses, &texts[0], 1).is_none());
    assert!(texts[1..].iter().all(|text| found(&test, &uses, text, 1).is_some()));
    let other_door = find_session(&test.store.read(), &uses, Door::Console, &at_console, at(1));
    assert!(other_door.unwrap().is_some());
    sound(&test);
}

#[test]
fn none_behind_a_door_is_hidden_by_newer_ones_behind_the_other() {
    let test = TestStore::open(START);
    let tenant_id = tenant(&test);
    let (first, _) = begin(&test, Door::Console, tenant_id, 1, origin("zoe", None));
    let (second, _) = begin(&test, Door::Console, tenant_id, 2, origin("zoe", None));
    // The rows alone: nothing else is asked for them.
    write(&test, move |tx| {
        let row = tx.get(&SESSIONS, &first.session_id)?.unwrap();
        for _ in 0..2_500 {
            let id = tx.new_id();
            tx.put(&SESSIONS, &id, &SessionRow { door: Door::Localization, ..row.clone() })?;
        }
        Ok::<_, Abort<std::convert::Infallible>>(())
    });
    let (last, _) = begin(&test, Door::Console, tenant_id, 3, origin("zoe", None));
    let list = |limit: usize, seconds: i64| {
        let listed = list_sessions(&test.store.read(), Door::Console, at(seconds), limit).unwrap();
        listed.into_iter().map(|session| session.principal_id.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!((list(9, 1), list(2, 1), list(0, 1)), (vec![3, 2, 1], vec![3, 2], vec![]));
    assert!(list(9, LIFE_SECONDS).is_empty());
    assert!(last.session_id > second.session_id);
}

#[test]
fn a_move_to_another_tenant_gives_no_time() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let (one, other) = (tenant(&test), tenant(&test));
    let (session, text) = begin(&test, Door::Localization, one, 1, origin("zoe", Some("s")));
    let (id, token) = (session.session_id, SessionToken::draw());
    let digest = token.digest();
    let moved = write(&test, move |tx| move_session(tx, at(60), id, other, Uuid::from_u128(2), digest)).unwrap();
    assert_eq!(moved.before, session);
    let made = moved.made.session;
    assert_eq!((made.tenant_id, made.ends_at, made.created_at), (other, session.ends_at, at(60)));
    assert!(found(&test, &uses, &text, 61).is_none(), "the one before lets nobody in");
    let fresh = token.text(made.session_id).expose().clone();
    assert_eq!(found(&test, &uses, &fresh, 61), Some(made.clone()));
    assert!(origin_of(&test.store.read(), made.session_id).unwrap() == Some(origin("zoe", Some("s"))));
    let gone = write(&test, move |tx| move_session(tx, at(60), id, other, Uuid::from_u128(2), digest));
    assert!(gone.is_none());
    sound(&test);
}

#[test]
fn what_is_over_goes_by_the_hour() {
    let test = TestStore::open(START);
    let tenant_id = tenant(&test);
    for principal in 1..=3 {
        begin(&test, Door::Localization, tenant_id, principal, origin("zoe", Some("s")));
    }
    let due = SessionEnds.next(&test.store.read(), SessionEnds::FIRST).unwrap();
    assert_eq!(due, Some(at(LIFE_SECONDS)));
    let sweep = |now: Timestamp| {
        let swept = write(&test, move |tx| {
            SessionEnds.slice(tx, now, SessionEnds::FIRST).map_err(Abort::<std::convert::Infallible>::Failed)
        });
        assert_eq!(swept.progress, Progress::Rest);
        SessionEnds.next(&test.store.read(), SessionEnds::FIRST).unwrap()
    };
    assert_eq!(sweep(at(LIFE_SECONDS - 1)), due);
    assert_eq!(sweep(at(LIFE_SECONDS)), None);
    sound(&test);
}

#[test]
fn nothing_is_sealed_for_who_has_been_erased() {
    let test = TestStore::open(START);
    let uses = SessionUses::new(test.store.clone());
    let tenant_id = tenant(&test);
    let (session, text) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", None));
    write(&test, move |tx| {
        let owner = KeyOwner::Member { tenant: tenant_id, member: Uuid::from_u128(1) };
        seal::destroy(tx, START, owner).map_err(Abort::<std::convert::Infallible>::Failed)
    });
    assert!(found(&test, &uses, &text, 1).is_some(), "whoever removes a member ends its sessions");
    assert!(origin_of(&test.store.read(), session.session_id).unwrap().is_none());
    let (digest, origin) = (SessionToken::draw().digest(), origin("zoe", None));
    let new = NewSession {
        door: Door::Localization,
        tenant_id,
        principal_id: Uuid::from_u128(1),
        digest,
        marks: marks(&origin),
        origin,
        ends_at: at(LIFE_SECONDS),
    };
    let refused = test
        .store
        .write_blocking(Instant::now() + Duration::from_secs(20), move |tx, _| create_session(tx, START, new));
    assert!(matches!(refused, Err(Abort::Refused(seal::Erased))));
}

#[test]
fn what_contradicts_itself_is_found() {
    type Deed = fn(&mut WriteTx<'_>, Uuid) -> Result<(), Failure>;
    let deeds: [(Deed, &str); 5] = [
        (
            |tx, id| {
                tx.delete(&SESSIONS, &id);
                Ok(())
            },
            "which is not there",
        ),
        (
            |tx, id| {
                tx.delete(&SESSION_ORIGINS, &id);
                Ok(())
            },
            "lacks what the provider said",
        ),
        (
            |tx, id| {
                let found = tx.get(&SESSIONS, &id)?.unwrap();
                tx.delete(&SESSIONS_BY_END, &(found.end_hour(), id));
                Ok(())
            },
            "is not found by everything",
        ),
        (
            |tx, id| {
                let found = tx.get(&SESSIONS, &id)?.unwrap();
                tx.delete(&SESSIONS_BY_NAME, &(found.subject_mark, id));
                Ok(())
            },
            "is not found by everything",
        ),
        (
            |tx, id| {
                let found = tx.get(&SESSIONS, &id)?.unwrap();
                let key = (Uuid::from_bytes(found.tenant), Uuid::from_bytes(found.principal), id);
                tx.delete(&SESSIONS_BY_PRINCIPAL, &key);
                Ok(())
            },
            "is not found by everything",
        ),
    ];
    for (deed, expected) in deeds {
        let test = TestStore::open(START);
        let tenant_id = tenant(&test);
        let (session, _) = begin(&test, Door::Localization, tenant_id, 1, origin("zoe", Some("s")));
        sound(&test);
        write(&test, move |tx| deed(tx, session.session_id).map_err(Abort::<std::convert::Infallible>::Failed));
        let findings = crate::verify(&test.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{findings:?}");
    }
}
