//! Placeholders of templates in one text: where they stand, and the text with values in their places.

/// What opens a placeholder.
const OPEN: &str = "${{";
/// What closes it.
const CLOSE: &str = "}}";

/// A part of a text that may hold placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Stands as it is.
    Text(&'a str),
    /// The value of the parameter of this name stands here.
    Parameter(&'a str),
}

/// A placeholder that is opened and not closed, which can name no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed;

/// The parts of a text, in order, in one pass over it. `$${{` is the text `${{` and opens nothing. A name is not
/// judged here: it is what stands between the braces, without the blanks around it.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Unclosed> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend([Piece::Text(before), Piece::Text(OPEN)]);
            rest = after;
            continue;
        }
        let (name, after) = after.split_once(CLOSE).ok_or(Unclosed)?;
        pieces.extend([Piece::Text(before), Piece::Parameter(name.trim_matches([' ', '\t']))]);
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    pieces.retain(|piece| *piece != Piece::Text(""));
    Ok(pieces)
}

/// The text of these parts. Values are never scanned again. None if one has no value, or the whole is longer than
/// `most` bytes, which is seen before the memory is taken.
pub(super) fn filled<'v>(pieces: &[Piece<'_>], most: usize, value: impl Fn(&str) -> Option<&'v str>) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        let part = match piece {
            Piece::Text(part) => part,
            Piece::Parameter(name) => value(name)?,
        };
        if part.len() > most.saturating_sub(text.len()) {
            return None;
        }
        text.push_str(part);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{Piece, Unclosed, filled, pieces};

    fn fill(text: &str) -> Option<String> {
        filled(&pieces(text).ok()?, 64, |name| match name {
            "a" => Some("1"),
            "evil" => Some("${{ a }}"),
            "half" => Some("${{"),
            _ => None,
        })
    }

    #[test]
    fn a_value_stands_where_its_placeholder_stood() {
        assert_eq!(fill("x${{a}}y${{  a\t}}").as_deref(), Some("x1y1"));
        assert_eq!(pieces("${{ a }}"), Ok(vec![Piece::Parameter("a")]));
        assert_eq!(fill("").as_deref(), Some(""));
    }

    #[test]
    fn values_are_never_scanned_again() {
        assert_eq!(fill("${{ evil }}").as_deref(), Some("${{ a }}"));
        assert_eq!(fill("${{ half }} a }}").as_deref(), Some("${{ a }}"));
        assert_eq!(fill("$${{ evil }}").as_deref(), Some("${{ evil }}"));
    }

    #[test]
    fn a_doubled_sign_opens_nothing() {
        assert_eq!(fill("$${{ a }}").as_deref(), Some("${{ a }}"));
        assert_eq!(fill("$$${{").as_deref(), Some("$${{"));
        assert_eq!(fill("$ {{ a }} $").as_deref(), Some("$ {{ a }} $"));
    }

    #[test]
    fn what_is_not_closed_or_not_known_is_told() {
        assert_eq!(pieces("x ${{ a }"), Err(Unclosed));
        assert_eq!(fill("${{ b }}"), None);
        assert_eq!(fill("${{}}"), None);
    }

    #[test]
    fn a_text_that_grows_too_long_is_refused() {
        assert_eq!(fill(&"${{a}}".repeat(64)).map(|text| text.len()), Some(64));
        assert_eq!(fill(&"${{a}}".repeat(65)), None);
    }
}
