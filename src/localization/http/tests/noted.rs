//! What changes of translations and memories leave in the chain: one event each, with what the design says it tells.

use super::*;

impl Room {
    /// The keys of a project, in the order of their paths.
    async fn key_ids(&self, project: &str) -> Vec<String> {
        let (_, page) = self.send("GET", &format!("/v1/projects/{project}/keys"), Body::empty()).await;
        let mut keys = page["keys"].as_array().unwrap().clone();
        keys.sort_by_key(|key| key["path"].as_str().unwrap().to_owned());
        keys.iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect()
    }

    async fn translate(&self, key_id: &str, text: &str) -> Value {
        let path = format!("/v1/keys/{key_id}/translations/de-at");
        let (status, told) = self.send("PUT", &path, Body::from(json!({"text": text}).to_string())).await;
        assert!(status < 300, "{told}");
        told
    }
}

/// A step that is taken leaves one event; one that is refused leaves none, nor does a repeat (localization, T7).
#[tokio::test]
async fn each_step_leaves_one_event() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "Hello {name}"})).await;
    let key_id = room.key_ids(&project).await.remove(0);
    room.translate(&key_id, "Hallo").await;
    let path = format!("/v1/keys/{key_id}/translations/de-at/transition");
    let step = async |under: &str, action: &str| {
        let body = Body::from(json!({"action": action}).to_string());
        room.send_under(under, "POST", &path, body).await.0
    };
    let before = room.events();
    for (action, status) in [("review", 422), ("reject", 409), ("approve", 409), ("revoke", 409), ("publish", 400)] {
        assert_eq!(step(&format!("no {action}"), action).await, status, "{action}");
    }
    assert_eq!(room.events(), before, "a refusal has changed nothing");
    room.translate(&key_id, "Hallo {name}").await;
    let before = room.events();
    let steps = [
        ("review", "draft", "reviewed"),
        ("reject", "reviewed", "draft"),
        ("review", "draft", "reviewed"),
        ("approve", "reviewed", "approved"),
        ("revoke", "approved", "reviewed"),
        ("approve", "reviewed", "approved"),
    ];
    for (number, (action, ..)) in steps.into_iter().enumerate() {
        let under = number.to_string();
        // The second time it is a repeat.
        assert_eq!([step(&under, action).await, step(&under, action).await], [200, 200], "{number} {action}");
    }
    let payload = |from: &str, to: &str| {
        json!({
            "project_id": project, "file_id": file, "locale": "de-AT", "revision": 2, "from": from, "to": to,
            "cause": "transition", "approval_ref": null,
        })
    };
    let expected = steps.map(|(_, from, to)| ("translation_state".to_owned(), payload(from, to)));
    assert_eq!(room.events_behind(before), expected);
    room.context.store.shutdown();
}

/// Of a document with translations every unit that is written leaves one event, as if it had been put; those that are
/// skipped or say what is there already leave none.
#[tokio::test(flavor = "multi_thread")]
async fn each_unit_of_a_document_leaves_one_event() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A", "b": "A", "c": "A"})).await;
    let keys = room.key_ids(&project).await;
    let path = format!("/v1/projects/{project}/files/{file}/xliff");
    let before = room.events();
    let send = async |under: &str| {
        let document = document_of(&keys[..2], 2);
        room.send_under(under, "POST", &path, Body::from(document)).await
    };
    let (status, told) = send("once").await;
    assert_eq!((status, &told["written"], &told["skipped"]), (200, &json!(2), &json!(2)), "{told}");
    let payload = json!({"project_id": project, "file_id": file, "locale": "de", "revision": 1, "origin": "import"});
    let expected = vec![("translation".to_owned(), payload); 2];
    assert_eq!(room.events_behind(before), expected);
    let (status, again) = send("once").await;
    assert_eq!((status, &again), (200, &told), "a repeat");
    let (status, told) = send("twice").await;
    assert_eq!((status, &told["unchanged"]), (200, &json!(2)), "{told}");
    assert_eq!(room.events_behind(before), expected, "nothing more was written");
    room.context.store.shutdown();
}

/// A document with a memory leaves one event that says how many units it wrote; one that brings nothing new leaves none.
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_that_comes_in_leaves_one_event() {
    let room = Room::open();
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let unit = |source: &str| {
        format!(
            "<tu><tuv xml:lang='en'><seg>{source}</seg></tuv><tuv xml:lang='de'><seg>{source} auf Deutsch</seg></tuv></tu>"
        )
    };
    let document = |sources: &[&str]| {
        let units: String = sources.iter().map(|source| unit(source)).collect();
        Body::from(format!("<tmx version='1.4'><header srclang='en'/><body>{units}</body></tmx>"))
    };
    let path = format!("/v1/projects/{project}/memory");
    let before = room.events();
    for (under, sources, written, unchanged) in [
        ("1", &["one", "two"][..], 2, 0),
        ("1", &["one", "two"], 2, 0),
        ("2", &["two", "three"], 1, 1),
        ("3", &["one"], 0, 1),
    ] {
        let (status, told) = room.send_under(under, "POST", &path, document(sources)).await;
        let expected = (200, &json!(written), &json!(unchanged));
        assert_eq!((status, &told["written"], &told["unchanged"]), expected, "{under}: {told}");
    }
    let (status, _) = room.send("POST", &path, Body::from("<tmx version='1.4'><body/>")).await;
    assert_eq!(status, 422, "what is refused leaves none either");
    let event = |written: u64, unchanged: u64| {
        ("memory.import".to_owned(), json!({"written": written, "unchanged": unchanged}))
    };
    assert_eq!(room.events_behind(before), [event(2, 0), event(1, 1)]);
    room.context.store.shutdown();
}
