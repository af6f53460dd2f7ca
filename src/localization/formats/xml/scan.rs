//! Where in what can be looked at of a document a token ends; `None`: further on.

use memchr::{memchr, memchr3};

/// What a DOCTYPE begins with.
pub(super) const DOCTYPE: &str = "<!DOCTYPE";

/// At which byte the bracket stands that ends a start tag: those in quotes end none.
pub(super) fn tag_end(window: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = window.as_bytes().get(at..)?;
        let found = memchr3(b'>', b'"', b'\'', rest)?;
        match rest.get(found).copied()? {
            b'>' => return Some(at + found),
            quote => at += found + 2 + memchr(quote, rest.get(found + 1..)?)?,
        }
    }
}

/// At which byte the bracket stands that ends an end tag.
pub(super) fn end_tag_end(window: &str) -> Option<usize> {
    memchr(b'>', window.as_bytes())
}

/// Where a processing instruction ends.
pub(super) fn instruction_end(window: &str) -> Option<usize> {
    Some(window.get(2..)?.find("?>")? + 2)
}

/// At which byte something stands that is no part of the name of a reference.
pub(super) fn reference_end(window: &str) -> Option<usize> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'#';
    Some(window.bytes().skip(1).position(|byte| !is_part(byte))? + 1)
}

/// At which byte the bracket stands that ends a DOCTYPE: those in its quotes, and of the declarations, comments and
/// instructions in its square brackets, do not.
pub(super) fn doctype_end(window: &str) -> Option<usize> {
    let mut at = DOCTYPE.len();
    let mut is_inside = false;
    loop {
        at += match (window.as_bytes().get(at)?, is_inside) {
            (b'>', false) => return Some(at),
            (quote @ (b'"' | b'\''), false) => memchr(*quote, window.as_bytes().get(at + 1..)?)? + 2,
            (b'[', false) => {
                is_inside = true;
                1
            }
            (b']', true) => {
                is_inside = false;
                1
            }
            (b'<', true) => declaration_length(window.get(at..)?)?,
            _ => 1,
        }
    }
}

/// How long what begins in a DOCTYPE's square brackets is.
fn declaration_length(window: &str) -> Option<usize> {
    if let Some(comment) = window.strip_prefix("<!--") {
        return Some(comment.find("-->")? + 7);
    }
    if window.starts_with("<?") {
        return Some(instruction_end(window)? + 2);
    }
    Some(tag_end(window)? + 1)
}

/// How many bytes at the end of a text cannot be told apart from what may come behind them: half of a line end, or of
/// the `]]>` that ends a CDATA section and stands in no text.
pub(super) fn undecided(window: &str) -> usize {
    let brackets = window.bytes().rev().take(2).take_while(|byte| *byte == b']').count();
    brackets + usize::from(window.as_bytes().iter().rev().nth(brackets) == Some(&b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_quotes_end_no_tag() {
        for (window, end) in [
            ("<a>", Some(2)),
            ("<a b='>' c=\"'>\">", Some(15)),
            ("<a b='>", None),
            ("<a", None),
            ("<a b='", None),
            ("<a b=''>>", Some(7)),
        ] {
            assert_eq!(tag_end(window), end, "{window}");
        }
    }

    #[test]
    fn doctypes_end_behind_what_is_in_them() {
        for whole in [
            "<!DOCTYPE a>",
            "<!DOCTYPE a SYSTEM 'x>[' \"]>'\">",
            "<!DOCTYPE a [<!-- ]> ' --><?p ]>' ?><!ENTITY e ']>'><!ELEMENT é (#PCDATA)>%p; ] >",
        ] {
            assert_eq!(doctype_end(&format!("{whole}>")), Some(whole.len() - 1), "{whole}");
            for (cut, _) in whole.char_indices() {
                assert_eq!(doctype_end(&whole[..cut]), None, "{:?}", &whole[..cut]);
            }
        }
    }

    #[test]
    fn ends_of_texts_that_may_become_something_else() {
        for (window, bytes) in
            [("", 0), ("a", 0), ("]", 1), ("]]", 2), ("]]]", 2), ("\r", 1), ("a\r]", 2), ("\ra]]", 2)]
        {
            assert_eq!(undecided(window), bytes, "{window:?}");
        }
    }
}
