//! Sign-ups over a real store: what waits, what goes, and what is made of it.

use quintet_storage::{Abort, Read as _, Scan};

use super::ask::ask;
use super::confirm::{confirm, waiting};
use super::model::{OF_ADDRESS_MAX, OF_SOURCE_MAX, Wish};
use super::tables::SIGN_UPS;
use crate::identity::keys::PreparedKey;
use crate::refusal::Refusal;
use crate::testing::Bench;

fn wish(address: &str, slug: &str) -> Wish {
    Wish { address: address.to_owned(), name: "Acme".to_owned(), slug: slug.to_owned() }
}

fn asked(bench: &Bench, wish: Wish, source: &str, token: &str) -> Result<(), Refusal> {
    let (source, token) = (source.to_owned(), token.to_owned());
    bench.run(move |tx, now| ask(tx, now, wish, source, &token))
}

fn waits(bench: &Bench) -> usize {
    bench.context.store.read().scan(&SIGN_UPS, Scan::all()).unwrap().len()
}

#[test]
fn what_makes_no_sense_is_said_of_its_field() {
    for (address, name, slug, field) in [
        ("ada", "Acme", "acme", "address"),
        ("ada@mail.example\r\nBcc: x@y.z", "Acme", "acme", "address"),
        ("ben@mail.example", "Acme", "acme", "address"),
        ("ada@example.com", " ", "acme", "name"),
        ("ada@example.com", "A\nB", "acme", "name"),
        ("ada@example.com", &"x".repeat(101), "acme", "name"),
        ("ada@example.com", "Acme", "Acme Inc", "workspace"),
    ] {
        let wish = Wish { address: address.to_owned(), name: name.to_owned(), slug: slug.to_owned() };
        let Err(Refusal::Invalid(problems)) = wish.check("mail.example") else { panic!("{address} {name} {slug}") };
        assert_eq!(problems[0].field, field);
    }
    assert!(wish("ada@example.com", "acme-2").check("mail.example").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_good_once_and_for_an_hour() {
    let bench = Bench::new();
    asked(&bench, wish("ada@example.com", "one"), "1.1.1.1", "t1").unwrap();
    asked(&bench, wish("ada@example.com", "two"), "1.1.1.1", "t2").unwrap();
    let confirmed = |token: &'static str| bench.run(move |tx, now| confirm(tx, now, token, PreparedKey::draw()));
    assert!(matches!(confirmed("t3"), Err(Refusal::NotFound(_))));
    let workspace = confirmed("t1").unwrap();
    assert_eq!((workspace.slug.as_str(), workspace.name.as_str(), workspace.is_ingress_open), ("one", "Acme", false));
    assert!(matches!(confirmed("t1"), Err(Refusal::NotFound(_))));
    assert_eq!(waits(&bench), 1);
    bench.advance(3_599).await;
    assert!(waiting(&bench.context.store.read(), bench.now(), "t2").is_ok());
    bench.advance(1).await;
    assert!(matches!(confirmed("t2"), Err(Refusal::NotFound(_))));
    assert_eq!(waits(&bench), 0);
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

#[test]
fn a_short_name_is_the_first_ones_who_confirms() {
    let bench = Bench::new();
    assert!(matches!(asked(&bench, wish("a@b.example", "acme"), "1.1.1.1", "t"), Err(Refusal::NameTaken(_))));
    asked(&bench, wish("ada@example.com", "one"), "1.1.1.1", "t1").unwrap();
    asked(&bench, wish("ben@example.com", "one"), "1.1.1.1", "t2").unwrap();
    bench.run(|tx, now| confirm(tx, now, "t2", PreparedKey::draw())).unwrap();
    let late = bench.run(|tx, now| confirm(tx, now, "t1", PreparedKey::draw()));
    assert!(matches!(late, Err(Refusal::NameTaken(_))), "nothing was made of it");
    assert_eq!(waits(&bench), 1);
}

#[test]
fn what_waits_is_bounded() {
    let bench = Bench::new();
    for number in 0..OF_ADDRESS_MAX {
        asked(&bench, wish("Ada@example.com", "one"), &format!("1.1.1.{number}"), &format!("a{number}")).unwrap();
    }
    let more = asked(&bench, wish("ada@example.com", "one"), "1.1.1.9", "b");
    assert!(matches!(more, Err(Refusal::LimitReached("sign-ups of an address", 3))));
    for number in 0..OF_SOURCE_MAX {
        asked(&bench, wish(&format!("a{number}@example.com"), "one"), "2.2.2.2", &format!("c{number}")).unwrap();
    }
    let more = asked(&bench, wish("b@example.com", "one"), "2.2.2.2", "d");
    assert!(matches!(more, Err(Refusal::LimitReached("sign-ups from a place", 20))));
    asked(&bench, wish("b@example.com", "one"), "3.3.3.3", "d").unwrap();
    let damaged = bench.run(|tx, _| -> Result<(), Abort<Refusal>> {
        let (place, row) = tx.scan(&SIGN_UPS, Scan::all().limit(1))?.remove(0);
        crate::due::clear(tx, row.expires_at, crate::due::Due::SignUp(place));
        Ok(())
    });
    damaged.unwrap();
    assert!(crate::verify(&bench.context.store.read()).unwrap().join("\n").contains("never goes"));
}
