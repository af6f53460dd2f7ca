//! Members from the first invitation to the erasure: every arrow between their states, and those that there are not.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Read as _, Uuid};

use quintet_platform::access::{
    AccessRefusal, CreateTenant, IssueKey, IssuedKey, PreparedSecret, Services, create_tenant, issue_key, revoke_key,
};

use super::MIGRATIONS;
use super::members::{CreateMember, activate_member, create_member, erase_member, remove_member};
use super::settings::{Settings, get_settings, patch_settings};
use crate::access::{GRANTS_BY_PRINCIPAL, GrantId, MarkRow};
use crate::audit::events_after;
use crate::model::TenantId;
use crate::principals::{
    ACCOUNTS, AccountId, COUNTS, KEYS_OF_PRINCIPALS, KeyOfPrincipalRow, MEMBERS, MEMBERS_BY_EMAIL, MEMBERS_MAX,
    MarkKey, Member, MemberId, MemberMarkRow, MemberStatus, Subject, email_mark, former_email_mark, get_member,
    is_address, member_by_email, member_by_subject,
};
use crate::refusal::Refusal;
use crate::testing::{Bench, OTHER, TENANT, actor, bench};

fn invite(bench: &Bench, email: &str) -> Result<Member, Refusal> {
    let command =
        CreateMember {
            email: email.to_owned(), display_name: Some("Zoë Quill".to_owned()), mark_key: MarkKey::draw()
        };
    bench.run(move |tx, now| create_member(tx, now, &actor(TENANT), command))
}

fn person(number: u32) -> Subject {
    Subject { issuer: "https://login.example".to_owned(), subject: format!("subject-{number}") }
}

fn activate(bench: &Bench, id: MemberId, subject: Subject) -> Result<Member, Refusal> {
    bench.run(move |tx, now| activate_member(tx, now, &actor(TENANT), id, subject))
}

fn remove(bench: &Bench, id: MemberId) -> Result<Member, Refusal> {
    bench.run(move |tx, now| remove_member(tx, now, &actor(TENANT), id))
}

fn erase(bench: &Bench, id: MemberId) -> Result<Member, Refusal> {
    bench.run(move |tx, now| erase_member(tx, now, &actor(TENANT), id))
}

fn by_email(bench: &Bench, email: &str) -> Option<MemberId> {
    member_by_email(&bench.store.read(), TENANT, email).unwrap().map(|member| member.member_id)
}

fn by_subject(bench: &Bench, subject: &Subject) -> Option<MemberId> {
    member_by_subject(&bench.store.read(), TENANT, subject).unwrap().map(|member| member.member_id)
}

#[track_caller]
fn sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.store.read()), Ok(Vec::new()));
}

fn actions(bench: &Bench) -> Vec<String> {
    let events = events_after(&bench.store.read(), TENANT, 0, 100).unwrap();
    events.into_iter().map(|(_, row)| row.action).collect()
}

#[test]
fn a_member_is_found_by_address_and_subject_as_long_as_it_is_live() {
    let bench = bench();
    let member = invite(&bench, "Zoe@Example.org").ok().unwrap();
    assert!(member.status == MemberStatus::Pending && member.email() == "Zoe@Example.org");
    assert_eq!(by_email(&bench, "zOE@eXAMPLE.ORG"), Some(member.member_id), "whatever the case");
    assert_eq!(by_email(&bench, "zoe@example.com"), None);
    // Letters besides those of ASCII are folded by nobody, least of all to ASCII: the Kelvin sign is no K.
    let kelvin = invite(&bench, "kelvin@example.org").ok().unwrap();
    assert_eq!(by_email(&bench, "KELVIN@example.org"), Some(kelvin.member_id));
    assert_eq!(by_email(&bench, "\u{212a}elvin@example.org"), None);
    let greek = invite(&bench, "\u{3a3}@example.org").ok().unwrap();
    assert_eq!(by_email(&bench, "\u{3a3}@EXAMPLE.org"), Some(greek.member_id));
    assert_eq!(by_email(&bench, "\u{3c3}@example.org"), None);
    assert!(matches!(invite(&bench, "zoe@EXAMPLE.org"), Err(Refusal::Conflict(_))));
    assert_eq!(by_subject(&bench, &person(1)), None);
    let active = activate(&bench, member.member_id, person(1)).ok().unwrap();
    assert!(active.status == MemberStatus::Active && active.person.unwrap().subject == Some(person(1)));
    assert_eq!(by_subject(&bench, &person(1)), Some(member.member_id));
    // Whoever comes again changes nothing.
    assert!(activate(&bench, member.member_id, person(1)).is_ok());
    assert!(matches!(activate(&bench, member.member_id, person(2)), Err(Refusal::Conflict(_))));
    let other = invite(&bench, "other@example.org").ok().unwrap();
    assert!(matches!(activate(&bench, other.member_id, person(1)), Err(Refusal::Conflict(_))), "bound already");
    sound(&bench);
    let removed = remove(&bench, member.member_id).ok().unwrap();
    assert!(removed.status == MemberStatus::Removed && removed.email() == "Zoe@Example.org");
    assert_eq!((by_email(&bench, "zoe@example.org"), by_subject(&bench, &person(1))), (None, None));
    assert!(matches!(activate(&bench, member.member_id, person(1)), Err(Refusal::NotFound)));
    assert!(remove(&bench, member.member_id).ok().unwrap() == removed, "again: the same");
    // The address may be invited anew, as a new member, whom the same person may be.
    let anew = invite(&bench, "zoe@example.org").ok().unwrap();
    assert!(anew.member_id != member.member_id && anew.short_id != member.short_id);
    assert!(activate(&bench, anew.member_id, person(1)).is_ok());
    sound(&bench);
    let expected =
        ["member.create", "member.create", "member.create", "member.activate", "member.create", "member.remove"];
    assert_eq!(actions(&bench)[..6], expected);
    assert_eq!(actions(&bench)[6..], ["member.create", "member.activate"]);
}

#[test]
fn a_member_with_a_mark_of_former_versions_is_found() {
    let bench = bench();
    let member = invite(&bench, "GR\u{dc}SSE@example.org").ok().unwrap();
    // As it was stored then: under the mark of the address in Unicode's lower case.
    bench
        .run(move |tx, _| {
            let [now, then] = [
                email_mark(tx, TENANT, "GR\u{dc}SSE@example.org")?,
                former_email_mark(tx, TENANT, "gr\u{fc}sse@example.org")?,
            ];
            let (now, then) = (now.unwrap(), then.unwrap());
            let mut row = tx.get(&MEMBERS, &(TENANT, member.member_id))?.unwrap();
            row.email_mark = Some(then);
            tx.put(&MEMBERS, &(TENANT, member.member_id), &row)?;
            tx.delete(&MEMBERS_BY_EMAIL, &(TENANT, now));
            tx.put(&MEMBERS_BY_EMAIL, &(TENANT, then), &MemberMarkRow { member_id: member.member_id })?;
            Ok::<_, Abort<Refusal>>(())
        })
        .unwrap();
    assert_eq!(by_email(&bench, "GR\u{dc}SSE@example.org"), Some(member.member_id));
    assert_eq!(by_email(&bench, "gr\u{dc}sse@Example.org"), Some(member.member_id));
    assert_eq!(by_email(&bench, "gr\u{fc}sse@example.org"), None);
    for taken in ["gr\u{dc}sse@example.org", "gr\u{fc}sse@example.org"] {
        assert!(matches!(invite(&bench, taken), Err(Refusal::Conflict(_))), "{taken}");
    }
    sound(&bench);
    remove(&bench, member.member_id).ok().unwrap();
    assert!(invite(&bench, "gr\u{fc}sse@example.org").is_ok());
    sound(&bench);
}

#[test]
fn whatever_becomes_of_a_member() {
    // From each state, what each verb makes of it; `None`: it is refused.
    use MemberStatus::{Active, Erased as Gone, Pending, Removed};
    type Way = fn(&Bench, MemberId);
    let ways: [(MemberStatus, Way); 4] = [
        (Pending, |_, _| {}),
        (Active, |bench, id| drop(activate(bench, id, person(1)))),
        (Removed, |bench, id| drop(remove(bench, id))),
        (Gone, |bench, id| drop(erase(bench, id))),
    ];
    let expected = [
        (Pending, [Some(Active), Some(Removed), Some(Gone)]),
        (Active, [Some(Active), Some(Removed), Some(Gone)]),
        (Removed, [None, Some(Removed), Some(Gone)]),
        (Gone, [None, Some(Gone), Some(Gone)]),
    ];
    for ((from, way), (state, outcomes)) in ways.into_iter().zip(expected) {
        assert_eq!(from, state);
        for (place, outcome) in outcomes.into_iter().enumerate() {
            let bench = bench();
            let id = invite(&bench, "a@b.example").ok().unwrap().member_id;
            way(&bench, id);
            let member = match place {
                0 => activate(&bench, id, person(1)),
                1 => remove(&bench, id),
                _ => erase(&bench, id),
            };
            assert_eq!(member.ok().map(|member| member.status), outcome, "{from:?}, verb {place}");
            let stored = get_member(&bench.store.read(), TENANT, id).ok().unwrap();
            assert_eq!(stored.status, outcome.unwrap_or(from), "{from:?}, verb {place}");
            sound(&bench);
        }
    }
    let bench = bench();
    let nobody = MemberId(quintet_storage::Uuid::nil());
    for refused in [activate(&bench, nobody, person(1)), remove(&bench, nobody), erase(&bench, nobody)] {
        assert!(matches!(refused, Err(Refusal::NotFound)));
    }
}

#[test]
fn nothing_is_left_of_whom_was_erased() {
    let bench = bench();
    let member = invite(&bench, "zoe@example.org").ok().unwrap();
    let id = member.member_id;
    activate(&bench, id, person(1)).ok().unwrap();
    let before = bench.store.read().get(&MEMBERS, &(TENANT, id)).unwrap().unwrap();
    let erased = erase(&bench, id).ok().unwrap();
    assert!(erased.person.is_none() && erased.email() == format!("{}@erased.invalid", member.short_id));
    assert!(is_address(&erased.email()));
    let read = bench.store.read();
    let row = read.get(&MEMBERS, &(TENANT, id)).unwrap().unwrap();
    assert_eq!((row.person, row.email_mark, row.subject_mark), (None, None, None));
    // What was stored before does not open any more, wherever somebody finds it.
    let owner = KeyOwner::Member { tenant: TENANT.0, member: id.0 };
    let opened = seal::open(&read, owner, &MEMBERS, &(TENANT, id), before.person.as_ref().unwrap());
    assert!(matches!(opened, Err(Abort::Refused(Erased))));
    assert!(before.into_member(&read, TENANT, id).ok().unwrap().person.is_none());
    let events = events_after(&read, TENANT, 0, 100).unwrap();
    let told: Vec<&str> = events.iter().map(|(_, row)| row.action.as_str()).collect();
    assert_eq!(told, ["member.create", "member.activate", "member.remove", "member.erase"]);
    assert!(events.iter().all(|(_, row)| row.payload.is_empty()), "{events:?}");
    assert!(invite(&bench, "zoe@example.org").is_ok());
    sound(&bench);
}

#[test]
fn members_are_a_tenants_own_and_a_bounded_number() {
    let bench = bench();
    let member = invite(&bench, "zoe@example.org").ok().unwrap();
    let read = bench.store.read();
    assert!(member_by_email(&read, OTHER, "zoe@example.org").unwrap().is_none());
    assert!(matches!(get_member(&read, OTHER, member.member_id), Err(Abort::Refused(Refusal::NotFound))));
    let counted = bench.run(|tx, _| {
        let mut counts = tx.get(&COUNTS, &TENANT)?.unwrap();
        counts.live_members = MEMBERS_MAX;
        Ok(tx.put(&COUNTS, &TENANT, &counts)?)
    });
    counted.unwrap();
    assert!(matches!(invite(&bench, "other@example.org"), Err(Refusal::Conflict(_))));
    remove(&bench, member.member_id).ok().unwrap();
    assert!(invite(&bench, "other@example.org").is_ok());
    let findings = crate::verify(&bench.store.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("other principals than are counted")), "{findings:?}");
}

#[test]
fn marks_that_do_not_fit_are_found() {
    let bench = bench();
    let member = invite(&bench, "zoe@example.org").ok().unwrap();
    bench
        .run(move |tx, _| {
            let mark = tx.get(&MEMBERS, &(TENANT, member.member_id))?.unwrap().email_mark.unwrap();
            tx.delete(&MEMBERS_BY_EMAIL, &(TENANT, mark));
            Ok(())
        })
        .unwrap();
    let findings = crate::verify(&bench.store.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("its address is not its own")), "{findings:?}");
}

/// A key as the command line issued it before keys had service accounts.
fn key(bench: &Bench, tenant_id: Uuid, permission: &str) -> IssuedKey {
    let command = IssueKey {
        tenant_id,
        principal_id: None,
        label: format!("key for {permission}"),
        permissions: vec![permission.to_owned()],
        ttl_days: None,
        secret: PreparedSecret::draw(),
    };
    bench.run(move |tx, now| issue_key(tx, now, command).map_err(unrefused)).unwrap()
}

fn unrefused(abort: Abort<AccessRefusal>) -> Abort<Refusal> {
    match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(refusal) => panic!("{refusal}"),
    }
}

#[test]
fn keys_of_older_directories_get_service_accounts() {
    let bench = bench();
    let command = CreateTenant { id: None, name: "t".to_owned(), services: Services::ALL, parent: None };
    let tenant_id = bench.run(move |tx, now| create_tenant(tx, now, command).map_err(unrefused)).unwrap().tenant_id;
    let ours = key(&bench, tenant_id, "p_*_read");
    let ledgers = key(&bench, tenant_id, "ledger_reader");
    let granted = key(&bench, tenant_id, "ledger_poster");
    let revoked = key(&bench, tenant_id, "p_*_read");
    let key_id = revoked.key_id.clone();
    bench.run(move |tx, now| revoke_key(tx, now, None, &key_id).map_err(unrefused)).unwrap();
    let grant = (TenantId(tenant_id), granted.principal_id, GrantId(Uuid::nil()));
    bench.run(move |tx, _| Ok(tx.put(&GRANTS_BY_PRINCIPAL, &grant, &MarkRow)?)).unwrap();
    for rows in [2, 0] {
        assert_eq!(MIGRATIONS[0].run_on(&bench.store), Ok(rows), "again: nothing");
    }
    let read = bench.store.read();
    let account = |key: &IssuedKey| read.get(&ACCOUNTS, &(TenantId(tenant_id), AccountId(key.principal_id))).unwrap();
    assert_eq!(account(&ours).map(|row| row.label), Some("key for p_*_read".to_owned()));
    assert!(account(&granted).is_some() && account(&ledgers).is_none() && account(&revoked).is_none());
    assert_eq!(crate::principals::verify(&read), Ok(Vec::new()));
    assert_eq!(super::verify(&read), Ok(Vec::new()));
}

#[test]
fn who_is_shut_out_and_has_something_left_is_found() {
    let bench = bench();
    let member = invite(&bench, "zoe@example.org").ok().unwrap().member_id;
    remove(&bench, member).ok().unwrap();
    let deed = bench.run(move |tx, _| {
        tx.put(&KEYS_OF_PRINCIPALS, &(TENANT, member.0, "x".to_owned()), &KeyOfPrincipalRow::default())?;
        Ok(tx.put(&GRANTS_BY_PRINCIPAL, &(TENANT, member.0, GrantId(Uuid::nil())), &MarkRow)?)
    });
    deed.unwrap();
    let findings = super::verify(&bench.store.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("is not its own")), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.contains("is shut out, and has the grant")), "{findings:?}");
}

#[test]
fn settings_are_shown_as_they_were_set() {
    let bench = bench();
    let set =
        |wanted: Settings| bench.run(move |tx, now| Ok(patch_settings(tx, now, &actor(TENANT), wanted)?)).unwrap();
    assert_eq!(get_settings(&bench.store.read(), TENANT).unwrap(), Settings::default());
    assert_eq!(Settings::default().quorum(), 1);
    let first = Settings { legal_approval_quorum: Some(2), ..Settings::default() };
    assert_eq!(set(first.clone()), first);
    let both = set(Settings { display_name: Some("Quill".to_owned()), ..Settings::default() });
    assert_eq!(both, Settings { display_name: Some("Quill".to_owned()), legal_approval_quorum: Some(2) });
    assert_eq!(get_settings(&bench.store.read(), TENANT).unwrap().quorum(), 2);
    assert_eq!(get_settings(&bench.store.read(), OTHER).unwrap(), Settings::default());
    assert_eq!(actions(&bench), ["settings.update"; 2]);
}

#[test]
fn the_operator_invites_finds_lists_and_removes_members() {
    use super::people::{
        Invitation, count_members, invite_member, known_member, known_members, link_made, remove_known,
    };
    let bench = bench();
    let as_refusal = |abort: Abort<String>| match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(reason) => panic!("{reason}"),
    };
    assert!(Invitation::of("nobody").is_err());
    let invite = |email: &str| {
        let invitation = Invitation::of(email).unwrap();
        bench.run(move |tx, now| invite_member(tx, now, TENANT.0, invitation, 1_000).map_err(as_refusal)).unwrap()
    };
    let (zoe, max) = (invite("zoe@example.org"), invite("max@example.org"));
    let find = |wanted: &str| known_member(&bench.store.read(), TENANT.0, wanted).unwrap();
    assert_eq!(find("ZOE@example.org").map(|known| (known.member_id, known.is_live)), Some((zoe, true)));
    assert!(find("nobody@example.org").is_none() && find(&Uuid::nil().to_string()).is_none());
    assert!(known_member(&bench.store.read(), OTHER.0, "zoe@example.org").unwrap().is_none());
    bench.run(move |tx, now| Ok(link_made(tx, now, TENANT.0, zoe, 1_000)?)).unwrap();
    bench.run(move |tx, now| remove_known(tx, now, TENANT.0, max, 1_001).map_err(as_refusal)).unwrap();
    assert_eq!(find(&max.to_string()).map(|known| (known.status, known.is_live)), Some(("removed", false)));
    let all = known_members(&bench.store.read(), TENANT.0).unwrap();
    assert_eq!(all.iter().map(|known| known.member_id).collect::<Vec<_>>(), [zoe, max]);
    assert_eq!(count_members(&bench.store.read(), TENANT.0), Ok(1));
    assert_eq!(actions(&bench), ["member.create", "member.create", "member.link", "member.remove"]);
    // Each says whose doing it was.
    let events = events_after(&bench.store.read(), TENANT, 0, 9).unwrap();
    let payloads: Vec<_> = events.into_iter().map(|(_, event)| event.payload).collect();
    assert_eq!(payloads, [r#"{"uid":1000}"#, r#"{"uid":1000}"#, r#"{"uid":1000}"#, r#"{"uid":1001}"#]);
    sound(&bench);
}
