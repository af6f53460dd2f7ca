//! What a form says.

use axum::body::Body;
use data_encoding::HEXLOWER;
use quintet_platform::http::query::Query;
use quintet_platform::secrets::random_bytes;

use super::notice::Notice;

/// The largest form, in bytes.
const FORM_BYTES_MAX: usize = 16 << 10;

/// Reads a form. What it has besides what is asked for is nothing to anybody.
pub async fn read(body: Body) -> Result<Query, Notice> {
    read_of(body, FORM_BYTES_MAX, "").await
}

/// The same of a form that may be larger, and in which one field may occur more than once.
pub async fn read_of(body: Body, bytes_max: usize, repeatable: &str) -> Result<Query, Notice> {
    let bytes = axum::body::to_bytes(body, bytes_max).await.map_err(|_| Notice::TooLarge)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Notice::Malformed)?;
    Query::parse_with(Some(text), |name| name == repeatable).map_err(|_| Notice::Malformed)
}

/// What stands hidden in a form, so that it is one change however often it is sent.
pub fn once() -> String {
    HEXLOWER.encode(&random_bytes::<16>())
}

/// Where a visitor goes on: a path of ours, whatever the form says.
pub fn next_path(wanted: Option<String>) -> String {
    const PATH_BYTES_MAX: usize = 500;
    let is_ours = |path: &String| {
        path.starts_with('/')
            && !path.starts_with("//")
            && path.len() <= PATH_BYTES_MAX
            && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\?#\"<>".contains(&byte))
    };
    wanted.filter(is_ours).unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere() {
        for path in ["/", "/tenants", "/tenants/0190a5f0", "/a%20b"] {
            assert_eq!(next_path(Some(path.to_owned())), path);
        }
        let long = format!("/{}", "a".repeat(500));
        for bad in [
            "",
            "tenants",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a b",
            "/a\r\nb",
            "/ü",
            "/a?b",
            &long,
        ] {
            assert_eq!(next_path(Some(bad.to_owned())), "/", "{bad}");
        }
        assert_eq!(next_path(None), "/");
    }
}
