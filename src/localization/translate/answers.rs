//! What the engine says of a batch (localization, A2). It is believed nothing: what it says of others, what it says twice,
//! and what has another shape is as good as not said.

use std::collections::HashMap;

use quintet_platform::ids::parse_uuid;
use quintet_platform::json::Json;

use crate::content::{KeyId, Wished};

/// What an answer says, by key; `None`: it says something of it that is none, or contradicts itself.
pub type Said = HashMap<KeyId, Option<Wished>>;

/// Reads the document of an answer to a batch of texts or of plurals; `None`: it is no answer at all, and the engine may
/// be asked again.
#[must_use]
pub fn read(document: Json, is_plural: bool) -> Option<Said> {
    let Json::Object(members) = document else { return None };
    let (_, translations) = members.into_iter().find(|(name, _)| name == "translations")?;
    let Json::Array(translations) = translations else { return None };
    let mut said = Said::new();
    for one in translations {
        let Some(key_id) = one.get("id").and_then(Json::as_str).and_then(parse_uuid).map(KeyId) else { continue };
        let wished = wished(one, is_plural);
        let before = said.get(&key_id);
        let is_contradiction = before.is_some_and(|before| *before != wished);
        said.insert(key_id, if is_contradiction { None } else { wished });
    }
    Some(said)
}

fn wished(one: Json, is_plural: bool) -> Option<Wished> {
    let Json::Object(members) = one else { return None };
    let wanted = if is_plural { "forms" } else { "text" };
    let (_, value) = members.into_iter().find(|(name, _)| name == wanted)?;
    match (is_plural, value) {
        (false, Json::String(text)) => Some(Wished::Text(text)),
        (true, Json::Object(forms)) => {
            let texts = forms.into_iter().map(|(category, value)| match value {
                Json::String(text) => Some((category, text)),
                _ => None,
            });
            Some(Wished::Forms(texts.collect::<Option<_>>()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use quintet_platform::json::{Limits, parse};
    use quintet_storage::Uuid;
    use serde_json::json;

    use super::*;

    fn id(number: u128) -> KeyId {
        KeyId(Uuid::from_u128(number))
    }

    fn name(number: u128) -> String {
        id(number).0.to_string()
    }

    fn said(document: &serde_json::Value, is_plural: bool) -> Option<Said> {
        read(parse(document.to_string().as_bytes(), Limits::default()).unwrap(), is_plural)
    }

    #[test]
    fn texts_and_plurals_are_read_by_id() {
        let document = json!({
            "model": "x",
            "translations": [
                {"id": name(1), "text": "eins", "certainty": 1},
                {"id": name(2).to_uppercase(), "text": ""},
            ],
        });
        let expected = [(id(1), Some(Wished::Text("eins".into()))), (id(2), Some(Wished::Text(String::new())))];
        assert_eq!(said(&document, false), Some(Said::from(expected)));
        let document = json!({"translations": [{"id": name(1), "forms": {"one": "a", "other": "b"}}]});
        let forms = vec![("one".into(), "a".into()), ("other".into(), "b".into())];
        assert_eq!(said(&document, true), Some(Said::from([(id(1), Some(Wished::Forms(forms)))])));
    }

    #[test]
    fn what_has_another_shape_is_as_good_as_not_said() {
        for wrong in [json!({"id": name(1)}), json!({"id": name(1), "text": 1}), json!({"id": name(1), "text": null})] {
            assert_eq!(said(&json!({"translations": [wrong]}), false), Some(Said::from([(id(1), None)])), "{wrong}");
        }
        let forms = json!({"id": name(1), "forms": {"one": "a", "other": 2}});
        assert_eq!(said(&json!({"translations": [forms]}), true), Some(Said::from([(id(1), None)])));
        let text = json!({"id": name(1), "text": "a"});
        assert_eq!(said(&json!({"translations": [text]}), true), Some(Said::from([(id(1), None)])));
        for nobody in
            [json!(7), json!({"text": "a"}), json!({"id": 7, "text": "a"}), json!({"id": "x", "text": "a"}), json!([])]
        {
            assert_eq!(said(&json!({"translations": [nobody]}), false), Some(Said::new()), "{nobody}");
        }
    }

    #[test]
    fn what_is_said_twice_counts_if_it_is_the_same() {
        let one = |text: &str| json!({"id": name(1), "text": text});
        let told = |texts: &[&str]| {
            let items: Vec<_> = texts.iter().map(|text| one(text)).collect();
            said(&json!({"translations": items}), false).unwrap().remove(&id(1)).unwrap()
        };
        assert_eq!(told(&["a", "a"]), Some(Wished::Text("a".into())));
        assert_eq!(told(&["a", "b"]), None);
        assert_eq!(told(&["a", "b", "a"]), None);
    }

    #[test]
    fn without_a_list_it_is_no_answer() {
        for none in [json!({}), json!([]), json!("x"), json!({"translations": {}}), json!({"translation": []})] {
            assert_eq!(said(&none, false), None, "{none}");
        }
    }
}
