//! What is taken off an event that is longer than its tenant wants, in this order: the front of `result_summary`, the end of
//! `nodes`, then `output` and `payload`, `failed_nodes`, `tags`, `env`, `name`, `image`, `url`, `node_ref`, and `ref` and
//! `workflow_id` where `resource` has both.

use quintet_platform::json::{Json, to_compact};

/// Takes about so many bytes off, as far as there is something to take off; whether there was.
pub(super) fn shorten(data: &mut Json, bytes: usize) -> bool {
    let Json::Object(members) = data else { return false };
    if let Some(Json::String(summary)) = member(members, "result").and_then(|result| match result {
        Json::Object(members) => member(members, "result_summary"),
        _ => None,
    }) && !summary.is_empty()
    {
        // Escaped it is longer than this; what is left over is taken off the next time.
        let mut cut = bytes.min(summary.len()).max(1);
        while !summary.is_char_boundary(cut) {
            cut += 1;
        }
        summary.drain(..cut);
        return true;
    }
    if let Some(Json::Array(nodes)) = member(members, "nodes")
        && !nodes.is_empty()
    {
        let mut left = bytes;
        while left > 0
            && let Some(node) = nodes.pop()
        {
            left = left.saturating_sub(to_compact(&node).len() + 1);
        }
        return true;
    }
    for name in ["output", "payload"] {
        if let Some(value) = member(members, name)
            && *value != Json::Null
        {
            *value = Json::Null;
            return true;
        }
    }
    for name in ["failed_nodes", "tags", "env", "name", "image", "url", "node_ref", "ref", "workflow_id"] {
        if let Some(place) = members.iter().position(|(known, _)| known == name) {
            members.remove(place);
            return true;
        }
    }
    false
}

fn member<'j>(members: &'j mut [(String, Json)], name: &str) -> Option<&'j mut Json> {
    members.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use quintet_platform::ids::ulid;
    use quintet_platform::json::{Limits, parse};
    use quintet_platform::webhooks::{Event, renumbered};
    use quintet_storage::{Timestamp, Uuid};

    use super::super::room::WEBHOOKS;
    use super::*;

    /// What the block of a delivery takes at most: a number of 20 digits and an id.
    const DELIVERY_BYTES_MAX: usize = 110;

    fn event(data: &str) -> Event {
        Event {
            event_id: Uuid::from_u128(1),
            name: "run.exited".to_owned(),
            occurred_at: Timestamp::from_micros(1_700_000_000_000_000),
            tenant_id: Uuid::from_u128(2),
            resource_type: "run",
            resource_id: ulid(Uuid::from_u128(3)),
            data: parse(data.as_bytes(), Limits::default()).unwrap(),
        }
    }

    fn sent(data: &str, bytes_max: usize) -> String {
        String::from_utf8(WEBHOOKS.envelope(&event(data), bytes_max).with_delivery(7, None)).unwrap()
    }

    #[test]
    fn members_stand_in_the_contracts_order() {
        let expected = concat!(
            r#"{"event_id":"00000000000000000000000001","event_type":"run.exited","#,
            r#""occurred_at":"2023-11-14T22:13:20.000000Z","tenant_id":"00000000-0000-0000-0000-000000000002","#,
            r#""resource":{"type":"run","id":"00000000000000000000000003"},"data":{"a":1},"#,
            r#""delivery":{"delivery_id":7,"attempt":1,"endpoint_id":null},"truncated":false}"#
        );
        assert_eq!(sent(r#"{"a":1}"#, 65_536), expected);
        let again = renumbered(expected.as_bytes(), 12_345);
        assert_eq!(String::from_utf8(again).unwrap(), expected.replace("\"delivery_id\":7", "\"delivery_id\":12345"));
    }

    #[test]
    fn what_is_too_long_is_shortened_in_order_until_it_fits() {
        let long = "ä\\n".repeat(400);
        let data = format!(
            r#"{{"track_id":"T","name":"{n}","tags":["{n}"],"env":{{"A":"***"}},"result":{{"exit_code":0,"result_summary":"{long}"}}}}"#,
            n = "n".repeat(100)
        );
        let whole = sent(&data, usize::MAX).len();
        for most in (1024..4096).step_by(37) {
            let sent = sent(&data, most);
            assert!(sent.len() <= most, "{most}");
            let read = parse(sent.as_bytes(), Limits::default()).unwrap();
            let Json::Object(members) = read else { panic!() };
            let is_truncated = members.iter().any(|(name, value)| name == "truncated" && *value == Json::Bool(true));
            assert!(is_truncated == (most < whole) || (whole..whole + DELIVERY_BYTES_MAX).contains(&most), "{most}");
            assert!(sent.contains("\"name\""), "there was enough before it");
        }
        let nodes = r#"{"ref":"a","state":"succeeded"},"#.repeat(200);
        let workflow =
            format!(r#"{{"workflow_id":"W","nodes":[{}],"failed_nodes":["a"]}}"#, nodes.trim_end_matches(','));
        let cut = sent(&workflow, 1024);
        assert!(cut.len() <= 1024 && cut.contains("failed_nodes") && cut.contains("\"ref\":\"a\""), "{cut}");
        let output = format!(r#"{{"ref":"a","output":"{}"}}"#, "x".repeat(2_000));
        assert!(sent(&output, 1024).contains(r#""output":null"#));
        let timer = format!(
            r#"{{"timer_id":"T","tags":["{}"],"payload":[{{"a":"{}"}}]}}"#,
            "t".repeat(128),
            "x".repeat(16_000)
        );
        let cut = sent(&timer, 1024);
        assert!(cut.len() <= 1024 && cut.contains(r#""payload":null"#) && cut.contains("tttt"), "{cut}");
        let hopeless = format!(
            r#"{{"tags":["{}"],"name":"{}","image":"{}","url":"{}","node_ref":"{}"}}"#,
            "t".repeat(6_400),
            "n".repeat(900),
            "\\\"".repeat(512),
            "u".repeat(2_048),
            "r".repeat(128)
        );
        let left = sent(&hopeless, 1024);
        assert!(left.len() <= 1024 && left.contains("\"data\":{\"node_ref\""), "{left}");
        let reference = "\u{1f600}".repeat(128);
        let mut node = event(&format!(
            r#"{{"workflow_id":"{id}","ref":"{reference}","state":"waiting_approval","attempt":1000,"current_track_id":"{id}","exit_code":-1,"output":null}}"#,
            id = ulid(Uuid::from_u128(1))
        ));
        (node.name, node.resource_type) = ("node.waiting_approval".to_owned(), "node");
        node.resource_id = format!("{}/{reference}", ulid(Uuid::from_u128(1)));
        let left =
            String::from_utf8(WEBHOOKS.envelope(&node, 1024).with_delivery(u64::MAX, Some(Uuid::max()))).unwrap();
        assert!(left.len() <= 1024 && left.contains(&reference), "{} {left}", left.len());
    }
}
