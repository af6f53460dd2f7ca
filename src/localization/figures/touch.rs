//! Which translations a cause touches, as far as texts tell.

use crate::content::rejudge::{Cause, ChangedTerm, TermPlace};
use crate::content::{Source, Translated};
use crate::quality::folded;

/// Of more terms that changed at once all translations are judged anew: looking for them takes as long.
const TERMS_MAX: usize = 64;

/// Which translations of a file into one locale are to be judged anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touch {
    /// None.
    Nothing,
    /// All.
    Everything,
    /// Those whose source has one of the first texts, or whose target one of the others; ignoring case.
    Texts(Vec<String>, Vec<String>),
}

/// What is to be done about a key, once its source is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It is not touched.
    None,
    /// Its translation tells.
    IfTarget,
    /// It is touched.
    Always,
}

impl Touch {
    /// What a cause touches in a locale.
    #[must_use]
    pub fn of(cause: &Cause, locale: &str) -> Touch {
        match cause {
            Cause::File(_) | Cause::Import { .. } | Cause::Keys { .. } => Touch::Everything,
            Cause::Register(of) => {
                if may_cover(of.as_deref(), locale) {
                    Touch::Everything
                } else {
                    Touch::Nothing
                }
            }
            Cause::Terms(terms) => {
                let own = terms.iter().filter(|term| may_cover(term.locale.as_deref(), locale));
                of_terms(&own.collect::<Vec<_>>())
            }
        }
    }

    /// What is to be done about a key.
    #[must_use]
    pub fn need(&self, source: &Source) -> Need {
        match self {
            Touch::Nothing => Need::None,
            Touch::Everything => Need::Always,
            Touch::Texts(in_source, in_target) => match source {
                Source::Text(text) if has_any(text, in_source) => Need::Always,
                Source::Forms(forms) if forms.iter().any(|(_, text)| has_any(text, in_source)) => Need::Always,
                _ if in_target.is_empty() => Need::None,
                _ => Need::IfTarget,
            },
        }
    }

    /// Whether a translation has one of the texts.
    #[must_use]
    pub fn is_in(&self, content: &Translated) -> bool {
        let Touch::Texts(_, in_target) = self else { return *self == Touch::Everything };
        match content {
            Translated::Text { text, .. } => has_any(text, in_target),
            Translated::Forms(forms) => forms.iter().any(|form| has_any(&form.text, in_target)),
        }
    }
}

/// Whether what is said for a locale may hold for another one: they share their language. More than is covered by it is
/// judged anew for nothing.
fn may_cover(of: Option<&str>, locale: &str) -> bool {
    let language = |tag: &'_ str| tag.split('-').next().map(str::to_ascii_lowercase);
    of.is_none_or(|of| language(of) == language(locale))
}

fn of_terms(terms: &[&ChangedTerm]) -> Touch {
    let (mut in_source, mut in_target) = (Vec::new(), Vec::new());
    for term in terms {
        match term.place {
            TermPlace::Source => in_source.push(folded(&term.text).into_owned()),
            TermPlace::Target => in_target.push(folded(&term.text).into_owned()),
            TermPlace::Both => {
                // Each word of what stays as it is may stand in a translation by itself (localization, Q6).
                for word in own_words(&term.text) {
                    in_source.push(word.clone());
                    in_target.push(word);
                }
            }
        }
    }
    if in_source.is_empty() && in_target.is_empty() {
        Touch::Nothing
    } else if in_source.len() + in_target.len() > TERMS_MAX {
        Touch::Everything
    } else {
        Touch::Texts(in_source, in_target)
    }
}

/// The words of a text; all of it, if it has none.
fn own_words(text: &str) -> Vec<String> {
    let text = folded(text);
    let words = text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_owned).collect();
    if words.is_empty() { vec![text.into_owned()] } else { words }
}

fn has_any(text: &str, sought: &[String]) -> bool {
    if sought.is_empty() {
        return false;
    }
    let text = folded(text);
    sought.iter().any(|sought| text.contains(sought.as_str()))
}
