//! The ten process checks: they pass, they see damage, and they can be made to fail.

use crate::language::check_name::{CheckName, UnknownCheck};
use crate::language::checks::{self, digest, version_agreement};
use crate::language::health::Health;
use crate::language::tables::{KEYWORDS, SOURCES, Source, Tables, tables};

#[test]
fn every_check_passes() {
    for name in CheckName::ALL {
        assert_eq!(checks::run(name), Ok(()), "{name}");
    }
    let health = Health::start();
    assert!(health.is_available());
    assert!(health.outcomes().iter().all(|outcome| outcome.ok));
    assert_eq!(health.outcomes().map(|outcome| outcome.name), CheckName::ALL);
}

#[test]
fn a_check_that_is_made_to_fail_fails_until_it_is_restored() {
    let health = Health::start();
    for name in CheckName::ALL {
        health.fail(name);
        assert!(!health.is_available());
        let failed = health.outcomes().into_iter().filter(|outcome| !outcome.ok).map(|outcome| outcome.name);
        assert_eq!(failed.collect::<Vec<_>>(), [name]);
        // Running again does not take it back.
        health.run();
        assert!(!health.is_available());
        health.restore(name);
        assert!(health.is_available());
    }
}

#[test]
fn checks_have_names() {
    for name in CheckName::ALL {
        assert_eq!(CheckName::from_name(name.name()), Ok(name));
    }
    assert_eq!(CheckName::from_name("Grammar"), Err(UnknownCheck));
}

fn changed(source: Source, from: &str, to: &str) -> Source {
    assert!(source.text.contains(from), "{} lacks {from}", source.name);
    Source { text: source.text.replacen(from, to, 1).leak(), ..source }
}

#[test]
fn a_damaged_table_is_seen() {
    assert_eq!(digest(KEYWORDS), Ok(()));
    for (from, to) in [("islamic-civil", "islamic-cival"), ("# rows: ", "# rows: 1"), ("# sha256: ", "# sha256: 0")] {
        assert!(digest(changed(KEYWORDS, from, to)).is_err(), "{from} became {to}");
    }
    let mut longer = KEYWORDS.text.to_owned();
    longer.push_str("zz\tone\ttwo\n");
    assert!(digest(Source { text: longer.leak(), ..KEYWORDS }).is_err());
}

#[test]
fn tables_of_different_releases_are_seen() {
    assert_eq!(version_agreement(&SOURCES, tables()), Ok(()));
    for (from, to) in [("CLDR 48.2,", "CLDR 49,"), ("# source: ", "# origin: ")] {
        assert!(version_agreement(&[changed(KEYWORDS, from, to)], tables()).is_err(), "{from} became {to}");
    }
    let unreadable = Tables { faults: 1, ..Tables::default() };
    assert!(version_agreement(&SOURCES, &unreadable).is_err());
}
