//! How a refusal is answered: its status and code, and what is said about it. In which form that is written is the
//! service's dialect.

use std::collections::BTreeSet;

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::fault::{Fault, Problem};
use crate::json::{Json, to_compact};

/// An error code as a service documents it. A code may come with two statuses; it is documented with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The status it comes with.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// What it means, in a line.
    pub title: &'static str,
}

/// A service's table of codes: `codes! { 404 "not_found" "Not found" … }`.
#[macro_export]
macro_rules! codes {
    ($($status:literal $code:literal $title:literal)*) => {
        &[$($crate::service::Code { status: $status, code: $code, title: $title }),*]
    };
}

/// How a refusal is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The status.
    pub status: u16,
    /// The stable code.
    pub code: &'static str,
    /// What is particular about this occurrence: which member or parameter, and what is wrong. No input in it but names.
    pub problems: Vec<Problem>,
    /// Further members of the answer, as each dialect has them.
    pub members: Vec<(&'static str, Json)>,
    /// After how many seconds a repetition may succeed.
    pub retry_after_seconds: Option<u64>,
    /// Further header fields.
    pub headers: HeaderMap,
}

impl Verdict {
    /// A status and a code.
    #[must_use]
    pub fn new(status: u16, code: &'static str) -> Verdict {
        Verdict {
            status,
            code,
            problems: Vec::new(),
            members: Vec::new(),
            retry_after_seconds: None,
            headers: HeaderMap::new(),
        }
    }

    /// The same, and what the fault itself has to say.
    #[must_use]
    pub fn about(mut self, fault: &Fault) -> Verdict {
        self.problems = fault.problems();
        self.retry_after_seconds = fault.wait_seconds().or(self.retry_after_seconds);
        self
    }

    /// What is particular, in a sentence.
    #[must_use]
    pub fn detail(self, detail: impl Into<String>) -> Verdict {
        self.problem("", detail)
    }

    /// What is wrong with a member or parameter.
    #[must_use]
    pub fn problem(mut self, field: impl Into<String>, problem: impl Into<String>) -> Verdict {
        self.problems.push(Problem::new(field, problem));
        self
    }

    /// A further member.
    #[must_use]
    pub fn member(mut self, name: &'static str, value: impl Into<Json>) -> Verdict {
        self.members.push((name, value.into()));
        self
    }

    /// `Retry-After`, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Verdict {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// A header field, such as the current `ETag`.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Verdict {
        self.headers.insert(name, value);
        self
    }

    /// The header fields of the answer.
    pub(super) fn take_headers(&mut self) -> HeaderMap {
        let mut headers = std::mem::take(&mut self.headers);
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers
    }
}

/// The media type of a problem.
pub const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A problem (RFC 9457): `type` (the service's prefix and the code), `title` (what the service's table says of the code),
/// `status`, `code`, `detail` and `field` where there is something to say, further members last.
#[must_use]
pub fn problem(prefix: &str, codes: &[Code], verdict: &Verdict, further: Vec<(&'static str, Json)>) -> Vec<u8> {
    let known = codes.iter().find(|known| (known.status, known.code) == (verdict.status, verdict.code));
    let title = known.map_or(verdict.code, |known| known.title);
    let mut members = vec![
        ("type".to_owned(), Json::from(format!("{prefix}{}", verdict.code))),
        ("title".to_owned(), Json::from(title)),
        ("status".to_owned(), Json::from(verdict.status)),
        ("code".to_owned(), Json::from(verdict.code)),
    ];
    if let Some(Problem { field, problem }) = verdict.problems.first() {
        if !problem.is_empty() {
            members.push(("detail".to_owned(), Json::from(problem.as_str())));
        }
        if !field.is_empty() {
            members.push(("field".to_owned(), Json::from(field.as_str())));
        }
    }
    let further = verdict.members.iter().cloned().chain(further);
    members.extend(further.map(|(name, value)| (name.to_owned(), value)));
    to_compact(&Json::Object(members)).into_bytes()
}

/// The schema of a problem: the members that all have, and those that the service's have besides (an object of schemas).
#[must_use]
pub fn problem_schema(codes: &[Code], further: Value) -> Value {
    let codes: BTreeSet<&str> = codes.iter().map(|known| known.code).collect();
    let mut members = json!({
        "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
        "code": {"enum": codes}, "detail": {"type": "string"}, "field": {"type": "string"},
    });
    if let (Some(members), Value::Object(further)) = (members.as_object_mut(), further) {
        members.extend(further);
    }
    json!({"type": "object", "required": ["type", "title", "status", "code"], "properties": members})
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODES: &[Code] = crate::codes! { 422 "qa_failed" "A blocking check failed" };

    fn text(verdict: &Verdict) -> String {
        String::from_utf8(problem("urn:example:", CODES, verdict, Vec::new())).unwrap()
    }

    #[test]
    fn smallest_problem() {
        let body = text(&Verdict::new(422, "qa_failed"));
        assert_eq!(
            body,
            r#"{"type":"urn:example:qa_failed","title":"A blocking check failed","status":422,"code":"qa_failed"}"#
        );
    }

    #[test]
    fn fullest_problem() {
        let verdict =
            Verdict::new(422, "qa_failed").problem("text", "Q01 \"quoted\"").member("checks", vec![Json::from("Q01")]);
        let body = problem("urn:example:", CODES, &verdict, vec![("request_id", Json::from("r1"))]);
        assert_eq!(
            String::from_utf8(body).unwrap(),
            concat!(
                r#"{"type":"urn:example:qa_failed","title":"A blocking check failed","status":422,"code":"qa_failed","#,
                r#""detail":"Q01 \"quoted\"","field":"text","checks":["Q01"],"request_id":"r1"}"#
            )
        );
    }

    #[test]
    fn headers_follow_from_the_verdict() {
        let headers = Verdict::new(401, "unauthorized").retry_after(30).take_headers();
        assert_eq!(
            (&headers[RETRY_AFTER], &headers[WWW_AUTHENTICATE]),
            (&"30".parse().unwrap(), &"Bearer".parse().unwrap())
        );
    }
}
