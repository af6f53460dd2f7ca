//! Links and operators: who is let in, how often, until when, and what is left of it.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, Uuid, WriteTx};

use super::model::{DEEDS_MAX, LINKS_MAX, OPERATOR_IDLE_SECONDS, OPERATORS_MAX};
use super::tables::{DEEDS, DeedRow, ENDS, EndRow, LINKS, OPERATORS, PERMITS, PermitsRow};
use super::*;
use crate::access::{CreateTenant, Services, create_tenant};
use crate::jobs::{Agenda as _, Progress};
use crate::sessions::{
    Door, LIFE_SECONDS, Marks, NewSession, Origin, Session, SessionToken, create_session, sessions_of,
};
use crate::testing::TestStore;

/// A full hour.
const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000 / 3_600_000_000 * 3_600_000_000);

fn at(seconds: i64) -> Timestamp {
    START.plus_seconds(seconds)
}

fn write<T: Send + 'static>(
    test: &TestStore,
    verb: impl FnOnce(&mut WriteTx<'_>) -> Result<T, Failure> + Send + 'static,
) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    test.store.write_blocking(deadline, move |tx, _| verb(tx).map_err(Abort::<Infallible>::Failed)).unwrap()
}

fn tenant(test: &TestStore) -> Uuid {
    let command = CreateTenant { id: None, name: "t".to_owned(), services: Services::ALL, parent: None };
    let deadline = Instant::now() + Duration::from_secs(20);
    test.store.write_blocking(deadline, move |tx, _| create_tenant(tx, START, command)).unwrap().tenant_id
}

/// A link that is made at the start; its id and its text.
fn link(test: &TestStore, purpose: Purpose) -> (Uuid, String) {
    let token = LinkToken::draw();
    let new = NewLink { purpose, asked_by: "ann".to_owned(), digest: token.digest() };
    let (id, ends_at) = write(test, move |tx| make_link(tx, START, new));
    assert_eq!(ends_at, at(LINK_SECONDS));
    (id, token.text(id).expose().clone())
}

fn take(test: &TestStore, seconds: i64, text: &str, wanted: Purpose) -> Option<Link> {
    let text = text.to_owned();
    write(test, move |tx| take_link(tx, at(seconds), &text, |purpose| *purpose == wanted))
}

fn begin(test: &TestStore, seconds: i64) -> (Uuid, String) {
    let token = SessionToken::draw();
    let digest = token.digest();
    let id = write(test, move |tx| begin_session(tx, at(seconds), "ann", digest));
    (id, token.text(id).expose().clone())
}

fn found(test: &TestStore, text: &str, seconds: i64) -> Option<OperatorSession> {
    find_operator(&test.store.read(), text, at(seconds)).unwrap()
}

#[track_caller]
fn sound(test: &TestStore) {
    assert_eq!(crate::verify(&test.store.read()), Ok(Vec::new()));
}

#[test]
fn a_link_works_once_in_its_time_and_for_whom_it_is() {
    let test = TestStore::open(START);
    let member = Purpose::member(tenant(&test), Uuid::from_u128(7));
    let (id, text) = link(&test, Purpose::Operator);
    let (other, of_member) = link(&test, member);
    sound(&test);
    let secret = data_encoding::BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()[16..].to_vec();
    let joined = |id: Uuid, secret: &[u8]| data_encoding::BASE64URL_NOPAD.encode(&[id.as_bytes(), secret].concat());
    for bad in [joined(other, &secret), joined(id, &[0; 32]), joined(Uuid::nil(), &[0; 32]), String::new(), "x".into()]
    {
        assert_eq!(take(&test, 1, &bad, Purpose::Operator), None, "{bad}");
    }
    assert_eq!(take(&test, 1, &text, member), None, "for the other kind of people");
    assert_eq!(take(&test, LINK_SECONDS, &text, Purpose::Operator), None, "too late");
    let found = find_link(&test.store.read(), at(1), &text, |_| true).unwrap();
    assert_eq!(found.map(|link| link.link_id), Some(id), "and stays");
    let taken = take(&test, LINK_SECONDS - 1, &text, Purpose::Operator);
    assert_eq!(taken, Some(Link { link_id: id, purpose: Purpose::Operator, asked_by: "ann".to_owned() }));
    assert_eq!(take(&test, 1, &text, Purpose::Operator), None, "used");
    assert_eq!(find_link(&test.store.read(), at(1), &text, |_| true).unwrap(), None);
    assert!(take(&test, 1, &of_member, member).is_some());
    sound(&test);
    let deeds: Vec<_> =
        list_deeds(&test.store.read(), 9).unwrap().into_iter().map(|deed| (deed.act, deed.by)).collect();
    assert_eq!(deeds, [(Act::MemberLink, "ann".to_owned()), (Act::OperatorLink, "ann".to_owned())]);
}

#[test]
fn one_link_too_many_takes_the_oldest_away() {
    let test = TestStore::open(START);
    let (_, first) = link(&test, Purpose::Operator);
    write(&test, |tx| {
        for _ in 0..LINKS_MAX {
            make_link(tx, START, NewLink { purpose: Purpose::Operator, asked_by: String::new(), digest: [1; 32] })?;
        }
        Ok(())
    });
    assert_eq!(test.store.read().scan(&LINKS, Scan::all()).unwrap().len(), LINKS_MAX);
    assert_eq!(take(&test, 1, &first, Purpose::Operator), None);
    sound(&test);
}

#[test]
fn an_operator_is_in_for_eight_hours_and_half_an_hour_without_a_request() {
    let test = TestStore::open(START);
    let (id, text) = begin(&test, 0);
    let session = found(&test, &text, 1).unwrap();
    assert_eq!((session.session_id, session.login.as_str(), session.ends_at), (id, "ann", at(OPERATOR_SECONDS)));
    assert!(!is_use_due(&session, at(59)) && is_use_due(&session, at(60)));
    assert!(found(&test, &text, OPERATOR_IDLE_SECONDS - 1).is_some());
    assert!(found(&test, &text, OPERATOR_IDLE_SECONDS).is_none());
    let mut used = 0;
    while used + OPERATOR_IDLE_SECONDS < OPERATOR_SECONDS {
        write(&test, move |tx| note_use(tx, at(used), id));
        assert!(found(&test, &text, used + OPERATOR_IDLE_SECONDS - 1).is_some());
        assert!(found(&test, &text, used + OPERATOR_IDLE_SECONDS).is_none());
        used += OPERATOR_IDLE_SECONDS - 1;
    }
    write(&test, move |tx| note_use(tx, at(OPERATOR_SECONDS - 1), id));
    write(&test, move |tx| note_use(tx, at(1), id));
    assert!(found(&test, &text, OPERATOR_SECONDS - 1).is_some(), "no use is taken back");
    assert!(found(&test, &text, OPERATOR_SECONDS).is_none());
    write(&test, |tx| note_use(tx, at(1), Uuid::nil()));
    sound(&test);
}

#[test]
fn an_ended_session_lets_nobody_in_and_leaves_a_deed() {
    let test = TestStore::open(START);
    let ((id, text), (_, other)) = (begin(&test, 0), begin(&test, 1));
    assert_eq!(list_operators(&test.store.read(), at(2)).unwrap().len(), 2);
    assert!(write(&test, move |tx| end_operator_session(tx, at(2), id, "bob")));
    assert!(!write(&test, move |tx| end_operator_session(tx, at(2), id, "bob")));
    assert!(found(&test, &text, 3).is_none() && found(&test, &other, 3).is_some());
    assert!(found(&test, "", 3).is_none() && found(&test, &"A".repeat(64), 3).is_none());
    let deed = list_deeds(&test.store.read(), 1).unwrap().remove(0);
    assert_eq!(deed, Deed { at: at(2), act: Act::OperatorSessionEnd, by: "bob".to_owned(), about: id.to_string() });
    let other_id = found(&test, &other, 3).unwrap().session_id;
    for _ in 0..OPERATORS_MAX {
        begin(&test, 3);
    }
    assert!(found(&test, &other, 4).is_none(), "the oldest has ended");
    let ends = list_deeds(&test.store.read(), OPERATORS_MAX + 1).unwrap();
    let ends: Vec<_> = ends.into_iter().filter(|deed| deed.act == Act::OperatorSessionEnd).collect();
    let expected = Deed { at: at(3), act: Act::OperatorSessionEnd, by: "ann".to_owned(), about: other_id.to_string() };
    assert_eq!(ends, [expected], "and leaves a deed");
    assert_eq!(list_operators(&test.store.read(), at(OPERATOR_IDLE_SECONDS + 3)).unwrap(), []);
    sound(&test);
}

#[test]
fn sessions_that_are_over_make_room_before_the_oldest_ends() {
    let test = TestStore::open(START);
    let (id, at_work) = begin(&test, 0);
    for _ in 1..OPERATORS_MAX {
        begin(&test, 1);
    }
    let later = OPERATOR_IDLE_SECONDS + 1;
    write(&test, move |tx| note_use(tx, at(OPERATOR_IDLE_SECONDS - 1), id));
    let (_, fresh) = begin(&test, later);
    assert!(found(&test, &at_work, later).is_some() && found(&test, &fresh, later).is_some());
    assert_eq!(test.store.read().scan(&OPERATORS, Scan::all()).unwrap().len(), OPERATORS_MAX);
    let deeds = list_deeds(&test.store.read(), 2 * OPERATORS_MAX).unwrap();
    assert!(deeds.iter().all(|deed| deed.act == Act::OperatorSignIn), "what is over leaves none");
    sound(&test);
}

#[test]
fn members_sessions_end_at_the_console_alone_and_leave_a_deed_each() {
    let test = TestStore::open(START);
    let whose = (tenant(&test), Uuid::from_u128(7));
    let begin = |door| {
        let new = NewSession {
            door,
            tenant_id: whose.0,
            principal_id: whose.1,
            digest: [7; 32],
            origin: Origin {
                issuer: "link".to_owned(),
                subject: "zoe".to_owned(),
                provider_session: None,
                email: None,
                id_token: String::new(),
            },
            marks: Marks { subject: 7, provider_session: None },
            ends_at: at(LIFE_SECONDS),
        };
        write(&test, move |tx| {
            Ok(create_session(tx, START, new).unwrap_or_else(|_| panic!("nobody is erased")).session.session_id)
        })
    };
    let [first, second, third] = [(); 3].map(|()| begin(Door::Console));
    let elsewhere = begin(Door::Localization);
    assert!(!write(&test, move |tx| end_member_session(tx, at(1), elsewhere, "ann")), "another door's");
    assert!(!write(&test, |tx| end_member_session(tx, at(1), Uuid::nil(), "ann")));
    assert!(write(&test, move |tx| end_member_session(tx, at(1), first, "ann")));
    assert!(!write(&test, move |tx| end_member_session(tx, at(1), first, "ann")));
    write(&test, move |tx| end_member_sessions(tx, at(2), whose, "bob"));
    let mut left = sessions_of(&test.store.read(), Door::Localization, whose.0, whose.1, at(2)).unwrap();
    assert_eq!(left.iter().map(|session| session.session_id).collect::<Vec<_>>(), [elsewhere]);
    left.push(Session { door: Door::Console, ends_at: at(3), ..left[0].clone() });
    write(&test, move |tx| record_member_ends(tx, at(3), &left, "ann"));
    let deeds = list_deeds(&test.store.read(), 9).unwrap();
    let told: Vec<_> = deeds.iter().rev().map(|deed| (deed.act, deed.by.as_str(), deed.about.as_str())).collect();
    let [first, second, third] = [first, second, third].map(|id| id.to_string());
    let end = Act::MemberSessionEnd;
    assert_eq!(told, [(end, "ann", first.as_str()), (end, "bob", second.as_str()), (end, "bob", third.as_str())]);
    sound(&test);
}

#[test]
fn permits_are_given_and_taken() {
    let test = TestStore::open(START);
    let whose = (tenant(&test), Uuid::from_u128(7));
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (more, less) = (names(&["b", "a", "b"]), names(&["a", "c"]));
    assert_eq!(write(&test, move |tx| permit(tx, START, whose, &more, "ann")), ["a", "b"]);
    let same = names(&["a"]);
    assert_eq!(write(&test, move |tx| permit(tx, START, whose, &same, "ann")), ["a", "b"]);
    assert_eq!(list_deeds(&test.store.read(), 9).unwrap().len(), 1, "nothing changed, nothing done");
    assert_eq!(write(&test, move |tx| forbid(tx, START, whose, &less, "ann")), ["b"]);
    assert_eq!(permits_of(&test.store.read(), whose.0, whose.1).unwrap(), ["b"]);
    sound(&test);
    write(&test, move |tx| {
        forget_permits(tx, whose.0, whose.1);
        Ok(())
    });
    assert!(!test.store.read().contains(&PERMITS, &whose).unwrap());
    // Something for the rows that are kept.
    let again = names(&["ledger_reader"]);
    write(&test, move |tx| permit(tx, START, whose, &again, "ann"));
}

#[test]
fn of_deeds_the_newest_are_kept() {
    let test = TestStore::open(START);
    let row = DeedRow { at: START, act: Act::Permits, by: String::new(), about: String::new() };
    write(&test, move |tx| {
        tx.put(&DEEDS, &1, &row)?;
        tx.put(&DEEDS, &DEEDS_MAX, &row)
    });
    write(&test, |tx| record_deed(tx, START, Act::MemberSessionEnd, "ann", "x"));
    let numbers: Vec<u64> = test.store.read().scan(&DEEDS, Scan::all()).unwrap().iter().map(|(key, _)| *key).collect();
    assert_eq!(numbers, [DEEDS_MAX, DEEDS_MAX + 1]);
}

#[test]
fn what_is_over_goes_by_the_hour() {
    let test = TestStore::open(START);
    link(&test, Purpose::Operator);
    begin(&test, 0);
    let next = || PeopleEnds.next(&test.store.read(), PeopleEnds::FIRST).unwrap();
    let sweep = |now: Timestamp| {
        let swept = write(&test, move |tx| PeopleEnds.slice(tx, now, PeopleEnds::FIRST));
        assert_eq!(swept.progress, Progress::Rest);
    };
    assert_eq!(next(), Some(at(3_600)));
    sweep(at(3_599));
    assert_eq!(next(), Some(at(3_600)));
    sweep(at(3_600));
    assert_eq!(next(), Some(at(OPERATOR_SECONDS)));
    sweep(at(OPERATOR_SECONDS));
    assert_eq!(next(), None);
    sound(&test);
}

#[test]
fn what_contradicts_itself_is_found() {
    type Harm = fn(&mut WriteTx<'_>) -> Result<(), Failure>;
    let harms: [(Harm, &str); 4] = [
        (
            |tx| {
                let ends = tx.scan(&ENDS, Scan::all())?;
                ends.iter().filter(|(_, what)| *what == EndRow::Link).for_each(|(key, _)| tx.delete(&ENDS, key));
                Ok(())
            },
            "link",
        ),
        (
            |tx| {
                let ends = tx.scan(&ENDS, Scan::all())?;
                ends.iter().filter(|(_, what)| *what == EndRow::Operator).for_each(|(key, _)| tx.delete(&ENDS, key));
                Ok(())
            },
            "of an operator is not found by its end",
        ),
        (
            |tx| {
                let sessions = tx.scan(&OPERATORS, Scan::all())?;
                sessions.iter().for_each(|(key, _)| tx.delete(&OPERATORS, key));
                Ok(())
            },
            "which does not end then",
        ),
        (
            |tx| tx.put(&PERMITS, &(Uuid::nil(), Uuid::nil()), &PermitsRow { permissions: Vec::new() }),
            "which does not exist",
        ),
    ];
    for (harm, expected) in harms {
        let test = TestStore::open(START);
        link(&test, Purpose::Operator);
        begin(&test, 0);
        sound(&test);
        write(&test, harm);
        let findings = crate::verify(&test.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{findings:?}");
    }
}

#[test]
fn no_digest_is_in_a_debug_text() {
    let test = TestStore::open(START);
    link(&test, Purpose::Operator);
    begin(&test, 0);
    let read = test.store.read();
    let (_, link) = read.scan(&LINKS, Scan::all()).unwrap().remove(0);
    let (_, session) = read.scan(&OPERATORS, Scan::all()).unwrap().remove(0);
    assert!(!format!("{link:?} {session:?}").contains("digest"));
}
