//! What is in the editor's list, and the addresses that say so.

use quintet_platform::http::query::{Query, encode_segment};

use crate::console::address::{said, with_query};

/// The states that the list can be of.
pub const STATES: [&str; 6] = ["untranslated", "draft", "needs_attention", "reviewed", "approved", "outdated"];
/// Strings of a strip.
pub const STRIP_ROWS: usize = 50;

/// What the address of the editor says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Those in this state.
    pub state: Option<String>,
    /// Those of this file.
    pub file: Option<String>,
    /// Those that fail this check.
    pub check: Option<String>,
    /// Those with this text.
    pub text: Option<String>,
    /// From here on.
    pub cursor: Option<String>,
}

impl Filters {
    /// Takes them out of an address, or of a form that has them hidden. What is empty is not said.
    pub fn take(query: &mut Query) -> Filters {
        let mut text = |name: &str| said(query, name);
        Filters {
            state: text("state"),
            file: text("file"),
            check: text("failing"),
            text: text("q"),
            cursor: text("cursor"),
        }
    }

    /// Each that is said, as pages call it.
    pub fn said(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = [
            ("state", &self.state),
            ("file", &self.file),
            ("failing", &self.check),
            ("q", &self.text),
            ("cursor", &self.cursor),
        ];
        all.into_iter().filter_map(|(name, text)| text.as_deref().map(|text| (name, text)))
    }

    /// Whether anything but the place is said.
    pub fn is_narrow(&self) -> bool {
        self.said().any(|(name, _)| name != "cursor")
    }

    /// The same from elsewhere on.
    pub fn from(&self, cursor: Option<String>) -> Filters {
        Filters { cursor, ..self.clone() }
    }
}

/// A page of the editor: a project's, in a locale.
#[derive(Clone, Debug)]
pub struct Place {
    /// The project.
    pub project: String,
    /// The locale, as the address has it.
    pub locale: String,
}

impl Place {
    /// The editor's path.
    pub fn path(&self) -> String {
        format!("/projects/{}/locales/{}", encode_segment(&self.project), encode_segment(&self.locale))
    }

    /// The editor with these filters and this string.
    pub fn editor(&self, filters: &Filters, key: Option<&str>) -> String {
        let said = filters.said().chain(key.map(|key| ("key", key)));
        with_query(&self.path(), said)
    }

    /// What the room is asked for the strip.
    pub fn strip(&self, filters: &Filters) -> String {
        let names = |name| if name == "failing" { "check" } else { name };
        let said = filters.said().map(|(name, text)| (names(name), text));
        let limit = STRIP_ROWS.to_string();
        let fixed = [("locale", self.locale.as_str()), ("limit", limit.as_str())];
        with_query(
            &format!("/v1/projects/{}/translations", encode_segment(&self.project)),
            fixed.into_iter().chain(said),
        )
    }

    /// A key in this locale, of one of the room's routes.
    pub fn of_key(&self, key: &str, route: &str) -> String {
        format!("/v1/keys/{}/{route}/{}", encode_segment(key), encode_segment(&self.locale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::address::query;

    #[test]
    fn an_address_says_what_was_asked_for() {
        let place = Place { project: "7".to_owned(), locale: "pt-BR".to_owned() };
        let mut asked = query(Some("state=draft&q=a%26b+c&failing=Q01&key=9&file=")).unwrap();
        let filters = Filters::take(&mut asked);
        assert!(filters.is_narrow());
        assert_eq!(asked.take("key").as_deref(), Some("9"), "what is no filter is left");
        let address = place.editor(&filters, Some("9"));
        assert_eq!(address, "/projects/7/locales/pt-BR?state=draft&failing=Q01&q=a%26b%20c&key=9");
        assert_eq!(
            place.strip(&filters.from(Some("c".to_owned()))),
            "/v1/projects/7/translations?locale=pt-BR&limit=50&state=draft&check=Q01&q=a%26b%20c&cursor=c"
        );
        assert!(!Filters::default().from(Some("c".to_owned())).is_narrow());
        let hostile = Place { project: "../x?".to_owned(), locale: "a/b".to_owned() };
        assert_eq!(hostile.path(), "/projects/..%2Fx%3F/locales/a%2Fb");
    }
}
