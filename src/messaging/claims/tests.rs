//! Claims as callers see them.

use quintet_platform::ids::ulid;
use quintet_storage::{Read as _, Scan, Table, Uuid, WriteTx};
use serde_json::{Value, json};

use super::tables::{LISTS, ListRow, VERDICTS};
use crate::identity::Scope;
use crate::mail::messages::encode;
use crate::mail::model::Contents;
use crate::mail::post::Said;
use crate::model::{FAMILY, Mark, MessageId, WorkspaceNo};
use crate::rooms::join;
use crate::testing::{Bench, assert_refused};

const NONE: Value = Value::Null;
const CLAIM: &str = r#"{"assert_text":"it builds","repro":"make","expect":{"exit":0},"other":1}"#;

/// A message of Ann's to Ben that makes a claim; its path.
fn claim(bench: &Bench, claim: Option<&str>, to: Option<&str>) -> String {
    let claim = claim.map(str::to_owned);
    let posted = bench.post("ann", &["ben"], "x", |letter| {
        letter.has_claim = claim.is_some();
        letter.said = Said::Here(encode(&Contents { claim, ..Contents::default() }).unwrap());
        letter.to.extend(to.map(str::to_owned));
    });
    format!("/v1/messages/{}/claim", ulid(posted.message.0))
}

fn bench_of_three() -> Bench {
    let bench = Bench::new();
    for name in ["ann", "ben", "cid"] {
        bench.agent(name);
    }
    bench
}

#[tokio::test]
async fn recipients_judge_and_everybody_it_concerns_sees_it() {
    let bench = bench_of_three();
    let path = claim(&bench, Some(CLAIM), None);
    let own = bench.key(Scope::Send, &["ben"]);
    let (status, view) = bench.call_as("ann", "GET", &path, NONE).await;
    assert_eq!((status, &view["verdicts"], &view["verified"]), (200, &json!([]), &json!(false)));
    assert!(view["note"].is_string());
    let told = &view["claim"];
    assert_eq!(
        (&told["assert_text"], &told["repro"], &told["expect"]),
        (&json!("it builds"), &json!("make"), &json!({"exit": 0}))
    );
    assert_eq!((&told["claimed_by"], &told["interpreter"], &told["other"]), (&json!("ann"), &NONE, &NONE));
    let verdict = json!({"result": "verified", "observed_exit": 0, "observed_output": "ok", "client_version": "1", "env_note": "n"});
    let (status, given) = bench.call(&own, "POST", &format!("{path}/verdict"), verdict).await;
    assert_eq!((status, &given["runner"], &given["attestation"]), (201, &json!("ben"), &json!("platform_attested")));
    let (_, view) = bench.call(&own, "GET", &path, NONE).await;
    assert_eq!((&view["verified"], &view["note"]), (&json!(true), &NONE));
    let row = &view["verdicts"][0];
    for (member, expected) in
        [("result", "verified"), ("observed_output", "ok"), ("client_version", "1"), ("env_note", "n")]
    {
        assert_eq!(row[member], json!(expected), "{member}");
    }
    assert_eq!((&row["verdict_id"], &row["observed_exit"]), (&given["verdict_id"], &json!(0)));
    let refuted = bench.call_as("ben", "POST", &format!("{path}/verdict"), json!({"result": "refuted"})).await;
    assert_eq!((refuted.0, &refuted.1["attestation"]), (201, &json!("workspace_asserted")));
    let (_, view) = bench.call_as("ann", "GET", &path, NONE).await;
    assert_eq!((&view["verified"], view["verdicts"].as_array().unwrap().len()), (&json!(false), 2));
}

#[tokio::test]
async fn who_may_not_judge_and_what_cannot_be_judged() {
    let bench = bench_of_three();
    let path = claim(&bench, Some(CLAIM), Some("room:build"));
    let verdict = format!("{path}/verdict");
    let good = json!({"result": "error"});
    assert_refused(
        &bench.call_as("ann", "POST", &verdict, good.clone()).await,
        (403, "permission_denied"),
        "recipients",
    );
    for method in ["GET", "POST"] {
        let path = if method == "GET" { &path } else { &verdict };
        assert_refused(&bench.call_as("cid", method, path, good.clone()).await, (404, "not_found"), "for this agent");
    }
    let cid = bench.named("cid");
    bench.run(move |tx, _| join(tx, cid, "build")).unwrap();
    assert_eq!(bench.call_as("cid", "GET", &path, NONE).await.0, 200, "who is in the room has read it");
    assert_refused(
        &bench.call_as("cid", "POST", &verdict, good.clone()).await,
        (403, "permission_denied"),
        "recipients",
    );
    for (body, member) in [
        (json!({}), "result"),
        (json!({"result": "maybe"}), "result"),
        (json!({"result": "error", "observed_exit": "0"}), "observed_exit"),
        (json!({"result": "error", "observed_output": "x".repeat(4_001)}), "observed_output"),
        (json!({"result": "error", "env_note": "x".repeat(1_001)}), "env_note"),
    ] {
        assert_refused(&bench.call_as("ben", "POST", &verdict, body).await, (422, "validation_error"), member);
    }
    let none = claim(&bench, None, None);
    let (status, view) = bench.call_as("ben", "GET", &none, NONE).await;
    assert_eq!((status, &view["claim"], view["note"].is_string()), (200, &NONE, true));
    assert_refused(
        &bench.call_as("ben", "POST", &format!("{none}/verdict"), good.clone()).await,
        (404, "not_found"),
        "claim",
    );
}

/// One recipient takes no room from others, however often it judges.
#[tokio::test]
async fn each_recipient_has_room_for_its_verdicts() {
    let mut bench = Bench::new();
    bench.set(|workspace| workspace.limits = vec![(crate::limits::ACTIVE_AGENTS.code, None)]);
    let names: Vec<String> = (0..101).map(|number| format!("a{number:03}")).collect();
    for name in names.iter().chain(&["ann".to_owned()]) {
        bench.agent(name);
    }
    let to: Vec<&str> = names.iter().map(String::as_str).collect();
    let posted = bench.post("ann", &to, "x", |letter| {
        letter.has_claim = true;
        letter.said = Said::Here(encode(&Contents { claim: Some(CLAIM.to_owned()), ..Contents::default() }).unwrap());
    });
    let path = format!("/v1/messages/{}/claim", ulid(posted.message.0));
    let verdict = format!("{path}/verdict");
    let judge = async |name: &str, note: String| {
        bench.call_as(name, "POST", &verdict, json!({"result": "error", "env_note": note})).await
    };
    let view = async || {
        let (_, view) = bench.call_as("ann", "GET", &path, NONE).await;
        let all = view["verdicts"].as_array().unwrap().iter();
        all.map(|row| format!("{} {}", row["runner"], row["env_note"]).replace('"', "")).collect::<Vec<_>>()
    };
    for number in 0..101 {
        assert_eq!(judge(&names[0], number.to_string()).await.0, 201);
    }
    let newest: Vec<String> = (97..101).map(|number| format!("a000 {number}")).collect();
    assert_eq!(view().await, newest, "the newest four");
    for name in &names[1..97] {
        assert_eq!(judge(name, "x".to_owned()).await.0, 201);
    }
    let all = view().await;
    assert_eq!((all.len(), &all[..4], all[4].as_str()), (100, &newest[..], "a001 x"));
    // There is no more room: whoever has given more than one makes it, the oldest first.
    for name in &names[97..100] {
        assert_eq!(judge(name, "y".to_owned()).await.0, 201);
    }
    let all = view().await;
    assert_eq!((all.len(), all[0].as_str(), all[1].as_str()), (100, "a000 100", "a001 x"));
    assert_refused(&judge(&names[100], "z".to_owned()).await, (409, "limit_reached"), "verdicts");
    // Whoever is among them can change its mind.
    assert_eq!(judge(&names[1], "again".to_owned()).await.0, 201);
    assert_eq!((view().await.len(), view().await.last().unwrap().as_str()), (100, "a001 again"));
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}

/// A sender can be a recipient, too, and says what it found; that proves nothing. What it has refuted itself is.
#[tokio::test]
async fn nobody_verifies_his_own_claim() {
    let bench = bench_of_three();
    let posted = bench.post("ann", &["ann", "ben"], "x", |letter| {
        letter.has_claim = true;
        letter.said = Said::Here(encode(&Contents { claim: Some(CLAIM.to_owned()), ..Contents::default() }).unwrap());
    });
    let path = format!("/v1/messages/{}/claim", ulid(posted.message.0));
    for (name, result, is_verified) in
        [("ann", "verified", false), ("ben", "error", false), ("ben", "verified", true), ("ann", "refuted", false)]
    {
        let body = json!({"result": result});
        assert_eq!(bench.call_as(name, "POST", &format!("{path}/verdict"), body).await.0, 201, "{name}");
        let (_, view) = bench.call_as("ben", "GET", &path, NONE).await;
        assert_eq!((&view["verified"], &view["note"]), (&json!(is_verified), &NONE), "{name}: {result}");
    }
}

/// What is in the way of everybody is short: whoever gives a verdict reads none of the others, which may be long. One that
/// cannot be read is in nobody's way.
#[tokio::test]
async fn verdicts_are_listed_and_not_read() {
    const BROKEN: Table<(WorkspaceNo, MessageId, Uuid), Mark> = Table::new(0x053C, FAMILY, "messaging_verdicts");
    let bench = bench_of_three();
    let path = claim(&bench, Some(CLAIM), None);
    let verdict = format!("{path}/verdict");
    let judge = async |result: &str| bench.call_as("ben", "POST", &verdict, json!({"result": result})).await.0;
    assert_eq!(judge("error").await, 201);
    let first = bench.context.store.read().scan(&VERDICTS, Scan::all()).unwrap()[0].0;
    bench.run(move |tx, _| Ok(tx.put(&BROKEN, &first, &Mark)?)).unwrap();
    assert_eq!(bench.call_as("ben", "GET", &path, NONE).await.0, 500);
    assert_eq!(judge("refuted").await, 201);
}

/// Verdicts of an earlier version are looked through when another is given, before the transaction and once.
#[tokio::test]
async fn verdicts_that_were_not_listed_are_listed_once() {
    let bench = bench_of_three();
    let path = claim(&bench, Some(CLAIM), None);
    let verdict = format!("{path}/verdict");
    let judge = async |result: &str| bench.call_as("ben", "POST", &verdict, json!({"result": result})).await.0;
    assert_eq!(judge("error").await, 201);
    let message = bench.context.store.read().scan(&LISTS, Scan::all()).unwrap()[0].0;
    let unlist = move |tx: &mut WriteTx<'_>, _| {
        tx.delete(&LISTS, &message);
        Ok(())
    };
    bench.run(unlist).unwrap();
    let found = || crate::verify(&bench.context.store.read()).unwrap().join("\n");
    assert_eq!((found(), judge("refuted").await), (String::new(), 201));
    let (_, view) = bench.call_as("ann", "GET", &path, NONE).await;
    assert_eq!((view["verdicts"].as_array().unwrap().len(), found()), (2, String::new()));
    let halve = move |tx: &mut WriteTx<'_>, _| {
        let ListRow(mut all) = tx.get(&LISTS, &message)?.unwrap_or_default();
        all.truncate(1);
        Ok(tx.put(&LISTS, &message, &ListRow(all))?)
    };
    bench.run(halve).unwrap();
    assert!(found().contains("does not list its verdict"), "{}", found());
    let other = move |tx: &mut WriteTx<'_>, _| {
        let ListRow(mut all) = tx.get(&LISTS, &message)?.unwrap_or_default();
        all.iter_mut().for_each(|given| given.runner = "cid".to_owned());
        Ok(tx.put(&LISTS, &message, &ListRow(all))?)
    };
    bench.run(other).unwrap();
    assert!(found().contains("has no verdict of cid that it lists"), "{}", found());
}

/// What a recipient has found stays until it finds something else: attempts that came to nothing take its place never.
#[tokio::test]
async fn a_refutation_is_not_lost_among_attempts_that_came_to_nothing() {
    let bench = bench_of_three();
    let path = claim(&bench, Some(CLAIM), None);
    let judge = async |result: &str| {
        let given = bench.call_as("ben", "POST", &format!("{path}/verdict"), json!({"result": result})).await;
        assert_eq!(given.0, 201, "{given:?}");
    };
    let seen = async || {
        let (_, view) = bench.call_as("ann", "GET", &path, NONE).await;
        let results = view["verdicts"].as_array().unwrap().iter().map(|one| one["result"].as_str().unwrap().to_owned());
        (results.collect::<Vec<_>>().join(" "), view["verified"] == json!(true))
    };
    for result in ["refuted", "error", "error", "error", "verified"] {
        judge(result).await;
    }
    assert_eq!(seen().await, ("refuted error error verified".to_owned(), false));
    for result in ["error", "error", "error", "error"] {
        judge(result).await;
    }
    assert_eq!(seen().await, ("refuted verified error error".to_owned(), false));
    for result in ["verified", "verified", "verified"] {
        judge(result).await;
    }
    assert_eq!(
        seen().await,
        ("verified verified verified verified".to_owned(), true),
        "it has found otherwise since, again and again"
    );
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), [""; 0]);
}
