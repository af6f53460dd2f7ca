//! Files as they are exported: passed on, never shown, and of no kind that a browser would run.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use http::Method;
use quintet_platform::http::query::encode_segment;

use crate::console::address::{query, with_query};
use crate::console::download::attached;
use crate::console::notice::Notice;
use crate::console::rooms::{Room, With};
use crate::console::visitor::Member;

/// The file in a locale, or its source.
pub async fn download(
    member: Member,
    Path((project, file)): Path<(String, String)>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let mut asked = query(raw.as_deref())?;
    let locale = asked.take("locale").filter(|locale| !locale.is_empty());
    let is_approved_only = locale.is_some() && asked.take("state").as_deref() == Some("approved");
    let name = asked.take("name").unwrap_or_default();
    let path = format!("/v1/projects/{}/files/{}/export", encode_segment(&project), encode_segment(&file));
    let said = locale.as_deref().map(|locale| ("locale", locale)).into_iter();
    let address = with_query(&path, said.chain(is_approved_only.then_some(("state", "approved"))));
    let exported = member.asking.response(Room::Localization, Method::GET, &address, With::default()).await?;
    match exported.status().as_u16() {
        200 => Ok(attached(exported.into_body(), "application/octet-stream", &file_name(locale.as_deref(), &name))),
        400..=499 => Err(Notice::NotFound),
        _ => Err(Notice::Unavailable),
    }
}

/// A name for what is downloaded: of the path's last part, with the locale in front.
fn file_name(locale: Option<&str>, path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    let plain =
        |text: &str| text.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).collect::<String>();
    let name = match plain(last) {
        name if name.trim_matches('.').is_empty() => "strings".to_owned(),
        name => name,
    };
    match locale {
        Some(locale) => format!("{}.{name}", plain(locale)),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_has_a_plain_name() {
        assert_eq!(file_name(None, "app/en.json"), "en.json");
        assert_eq!(file_name(Some("pt-BR"), "app/strings.yml"), "pt-BR.strings.yml");
        assert_eq!(file_name(None, "a/\"; x=\".js\r\n"), "x.js");
        assert_eq!(file_name(None, "a/.."), "strings");
    }
}
