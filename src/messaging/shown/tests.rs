//! What signatures are worth, as keys are published and revoked.

use ed25519_dalek::{Signer as _, SigningKey};
use quintet_platform::ids::ulid;
use serde_json::{Value, json};

use crate::mail::messages::encode as encode_contents;
use crate::mail::model::Contents;
use crate::mail::post::Said;
use crate::testing::Bench;
use crate::words::bech32::encode;

const NONE: Value = Value::Null;

struct Signed {
    bench: Bench,
    key: SigningKey,
    fingerprint: String,
}

impl Signed {
    async fn new() -> Signed {
        let bench = Bench::new();
        bench.agent("ann");
        bench.agent("ben");
        let key = SigningKey::from_bytes(&[9; 32]);
        let text = encode("absig", key.verifying_key().as_bytes());
        let body = json!({"public_key": text, "algorithm": "ed25519"});
        let (status, published) = bench.call_as("ann", "POST", "/v1/agents/ann/pubkey", body).await;
        assert_eq!(status, 201, "{published}");
        let fingerprint = published["fingerprint"].as_str().unwrap().to_owned();
        Signed { bench, key, fingerprint }
    }

    /// A message of Ann's to Ben, signed over these lines; its state in the delivery and in the inbox.
    async fn state(&self, lines: &str, signature: Option<String>, fingerprint: Option<&str>) -> (Value, Value) {
        let good = encode("absigv", &self.key.sign(lines.as_bytes()).to_bytes());
        let signature = (signature.unwrap_or(good), fingerprint.map(str::to_owned));
        let posted = self.bench.post("ann", &["ben"], "t", |letter| {
            letter.subject = "s".to_owned();
            letter.to = vec!["room:z".to_owned(), "ben".to_owned(), "ben".to_owned()];
            letter.said = said(Contents { text: "t".to_owned(), signature: Some(signature), ..Contents::default() });
            letter.is_signed = true;
        });
        let path = format!("/v1/deliveries/{}", ulid(posted.message.0));
        let (_, delivery) = self.bench.call_as("ben", "GET", &path, NONE).await;
        let cursor = delivery["agent_seq"].as_u64().unwrap() - 1;
        let (_, page) = self.bench.call_as("ben", "GET", &format!("/v1/inbox?cursor={cursor}"), NONE).await;
        let row = page["messages"][0]["signature_state"].clone();
        assert_eq!(delivery["signature_state"], row);
        (delivery["provenance"]["signature"].clone(), row)
    }
}

fn said(contents: Contents) -> Said {
    Said::Here(encode_contents(&contents).unwrap())
}

const LINES: &str = "agentbus-sig-v1\nfrom: ann\nto: ben,ben,room:z\ncc: \nsubject: s\npriority: normal\n\
    body-sha256: e3b98a4da31a127d4bde6e43033f66ba274cab0eb7eb1c70ec41402bf6273dd8\n";

#[tokio::test]
async fn a_signature_is_worth_what_the_senders_keys_say_now() {
    let signed = Signed::new().await;
    let fingerprint = signed.fingerprint.clone();
    let (signature, state) = signed.state(LINES, None, Some(&fingerprint)).await;
    assert_eq!(state, json!("valid"));
    assert_eq!((&signature["signed"], &signature["key_fingerprint"]), (&json!(true), &json!(fingerprint)));
    let recipients = &signature["verify_yourself"]["signed_recipients"];
    assert_eq!(recipients, &json!({"to": ["room:z", "ben", "ben"], "cc": []}), "as typed, in its order");
    for (lines, text, named, expected) in [
        (LINES.replace("normal", "urgent"), None, Some(fingerprint.as_str()), "invalid"),
        (LINES.replace("subject: s", "subject: S"), None, Some(&fingerprint), "invalid"),
        (LINES.to_owned(), Some("absigv1qqqq".to_owned()), Some(&fingerprint), "invalid"),
        (LINES.to_owned(), Some(encode("absigv", &[7; 63])), Some(&fingerprint), "invalid"),
        (LINES.to_owned(), Some(String::new()), Some(&fingerprint), "invalid"),
        (LINES.to_owned(), None, Some("0123456789abcdef"), "unverifiable"),
        (LINES.to_owned(), None, None, "unverifiable"),
    ] {
        assert_eq!(signed.state(&lines, text, named).await.1, json!(expected), "{lines} {named:?}");
    }
    let path = format!("/v1/agents/ann/pubkey/{fingerprint}");
    assert_eq!(signed.bench.call_as("ann", "DELETE", &path, NONE).await.0, 200);
    let (_, page) = signed.bench.call_as("ben", "GET", "/v1/inbox?limit=1", NONE).await;
    assert_eq!(page["messages"][0]["signature_state"], json!("unverifiable"), "revoked since");
    let (_, sent) = signed.bench.call_as("ann", "GET", "/v1/sent?limit=1", NONE).await;
    let text = sent["messages"][0]["signed_recipients"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"to": ["room:z", "ben", "ben"], "cc": []}));
}
