//! The console's texts, in English and German, from `assets/console/{en,de}.json`: a key to a text each.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use quintet_platform::http::cookie::{Cookie, cookie};

/// The cookie that says which language somebody has chosen.
pub const COOKIE: &str = "__Host-quintet_language";

/// The most ranges of an `Accept-Language` that are read.
const RANGES_MAX: usize = 32;

type Texts = BTreeMap<String, String>;

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| read(include_str!("../../assets/console/en.json")));
static GERMAN: LazyLock<Texts> = LazyLock::new(|| read(include_str!("../../assets/console/de.json")));

/// A test sees to it that both files can be read.
fn read(text: &str) -> Texts {
    serde_json::from_str(text).unwrap_or_default()
}

/// A language of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
}

impl Language {
    /// Both.
    pub const ALL: [Language; 2] = [Language::English, Language::German];

    /// Its tag.
    pub const fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::German => "de",
        }
    }

    /// What its speakers call it.
    pub const fn name(self) -> &'static str {
        match self {
            Language::English => "English",
            Language::German => "Deutsch",
        }
    }

    /// The one of a tag.
    pub fn of_tag(tag: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.tag() == tag)
    }

    /// The one that somebody has chosen, or that his browser asks for; English, where neither is one of ours.
    pub fn of(headers: &HeaderMap) -> Language {
        if let Cookie::One(tag) = cookie(headers, COOKIE)
            && let Some(chosen) = Language::of_tag(tag)
        {
            return chosen;
        }
        let fields = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|field| field.to_str().ok());
        let ranges = fields.flat_map(|field| field.split(',')).take(RANGES_MAX).filter_map(weighed);
        // Of equal weights the first one counts.
        let best = ranges.fold(None, |best: Option<(Language, u16)>, (language, weight)| match best {
            Some((_, other)) if other >= weight => best,
            _ => Some((language, weight)),
        });
        best.map_or(Language::English, |(language, _)| language)
    }

    /// The text of a key; the key itself, if there is none.
    pub fn text(self, key: &str) -> &str {
        let texts: &'static Texts = match self {
            Language::English => &ENGLISH,
            Language::German => &GERMAN,
        };
        texts.get(key).or_else(|| ENGLISH.get(key)).map_or(key, String::as_str)
    }
}

/// A range with its weight in thousandths (RFC 9110, 12.5.4), if it is of one of our languages and wanted at all.
fn weighed(range: &str) -> Option<(Language, u16)> {
    let mut parts = range.split(';').map(str::trim);
    let tag = parts.next()?.split('-').next()?.to_ascii_lowercase();
    let weight = match parts.next().and_then(|part| part.strip_prefix("q=")) {
        None => 1_000,
        Some(text) => (text.parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight))? * 1_000.0) as u16,
    };
    Some((Language::of_tag(&tag)?, weight)).filter(|(_, weight)| *weight > 0)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::COOKIE as COOKIE_FIELD;

    use super::*;

    #[test]
    fn browsers_say_what_they_want() {
        for (accepted, expected) in [
            ("", "en"),
            ("de", "de"),
            ("DE-at", "de"),
            ("fr, de;q=0.5, en;q=0.9", "en"),
            ("de;q=0.9,en;q=0.9", "de"),
            ("de;q=0", "en"),
            ("de;q=7", "en"),
            ("*", "en"),
            ("fr", "en"),
            (",;,q=1;;-", "en"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(accepted));
            assert_eq!(Language::of(&headers).tag(), expected, "{accepted}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("en"));
        headers.insert(COOKIE_FIELD, HeaderValue::from_static("__Host-quintet_language=de"));
        assert_eq!(Language::of(&headers), Language::German, "what was chosen goes first");
        headers.insert(COOKIE_FIELD, HeaderValue::from_static("__Host-quintet_language=xx"));
        assert_eq!(Language::of(&headers), Language::English);
    }

    #[test]
    fn both_languages_have_the_same_keys_and_no_empty_text() {
        let keys = |texts: &'static Texts| texts.keys().collect::<Vec<_>>();
        assert!(ENGLISH.len() > 50, "the file cannot be read");
        assert_eq!(keys(&ENGLISH), keys(&GERMAN));
        for texts in [&*ENGLISH, &*GERMAN] {
            assert!(texts.values().all(|text| !text.trim().is_empty()));
        }
    }
}
