//! The content of a source or a target: text, and inline codes in it (localization, X4).

use std::collections::HashMap;
use std::io::Read;
use std::rc::Rc;

use super::model::{Said, Version};
use crate::formats::limits::FILE_BYTES_MAX;
use crate::formats::refusal::Code;
use crate::formats::xml::{Namespace, ReadError, Reader, Token};

/// The text of a unit's inline codes in XLIFF 2, which stands apart from them, by its id.
#[derive(Debug, Default)]
pub(super) struct CodeTexts {
    by_id: HashMap<String, Rc<str>>,
}

impl CodeTexts {
    pub fn clear(&mut self) {
        self.by_id.clear();
    }

    pub fn put(&mut self, id: String, text: String) {
        self.by_id.insert(id, text.into());
    }
}

/// How many bytes of texts of codes may be put into content: one text may be named any number of times.
#[derive(Debug)]
pub(super) struct Allowance(usize);

impl Allowance {
    /// So many.
    pub fn of(bytes: usize) -> Allowance {
        Allowance(bytes)
    }
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance(FILE_BYTES_MAX)
    }
}

/// An element inside content that is open.
enum Open {
    /// What is in it belongs to the text.
    Content,
    /// A code of XLIFF 1, whose text is what is in it; where that begins.
    Code(usize),
    /// A spanning code of XLIFF 2: what it is at its end.
    Spanning(Option<Rc<str>>),
}

/// Reads content up to the end of the element that has just begun.
///
/// # Errors
/// As the reader's; [`Code::UnsupportedConstruct`] if texts of codes are named more often than is reasonable.
pub(super) fn read_content<R: Read>(
    xml: &mut Reader<R>,
    version: Version,
    namespace: Namespace,
    codes: &CodeTexts,
    allowance: &mut Allowance,
) -> Result<Said, ReadError> {
    let mut said = Said::default();
    let mut open: Vec<Open> = Vec::new();
    xml.begin_text(0)?;
    loop {
        match xml.next()? {
            Token::Text => xml.say_into(&mut said.text)?,
            Token::Start => {
                let opened = match version {
                    Version::V1 => open_in_1(xml, namespace, &mut said),
                    Version::V2 => open_in_2(xml, namespace, codes, allowance, &mut said)?,
                };
                open.push(opened);
            }
            Token::End => match open.pop() {
                Some(Open::Content) => {}
                Some(Open::Code(begin)) => said.has_bare_code |= said.text.len() == begin,
                Some(Open::Spanning(text)) => put_code(&mut said, text.as_deref()),
                None => return Ok(said),
            },
            Token::Over => return Ok(said),
        }
    }
}

fn put_code(said: &mut Said, text: Option<&str>) {
    match text {
        Some(text) => said.text.push_str(text),
        None => said.has_bare_code = true,
    }
}

/// `g`, `mrk` and `sub` give their content, `ph`, `bpt`, `ept` and `it` the code that they hold; `x`, `bx`, `ex`, and
/// what is not XLIFF's, have none.
fn open_in_1<R: Read>(xml: &Reader<R>, namespace: Namespace, said: &mut Said) -> Open {
    let tag = xml.tag();
    match tag.local() {
        "g" | "mrk" | "sub" if tag.namespace() == namespace => Open::Content,
        "ph" | "bpt" | "ept" | "it" if tag.namespace() == namespace => Open::Code(said.text.len()),
        _ => {
            said.has_bare_code = true;
            Open::Content
        }
    }
}

/// Codes name the text they stand for; markers give their content; `cp` is a character that XML cannot hold.
fn open_in_2<R: Read>(
    xml: &mut Reader<R>,
    namespace: Namespace,
    codes: &CodeTexts,
    allowance: &mut Allowance,
    said: &mut Said,
) -> Result<Open, ReadError> {
    let mut code = |xml: &mut Reader<R>, name: &str| -> Result<Option<Rc<str>>, ReadError> {
        let text = xml.tag().attribute(name).and_then(|id| codes.by_id.get(id)).cloned();
        let bytes = text.as_deref().map_or(0, str::len);
        xml.keep(bytes)?;
        allowance.0 = allowance.0.checked_sub(bytes).ok_or_else(|| xml.refuses(Code::UnsupportedConstruct))?;
        Ok(text)
    };
    let tag = xml.tag();
    let local = if tag.namespace() == namespace { tag.local() } else { "" };
    match local {
        "mrk" | "sm" | "em" => {}
        "ph" | "sc" | "ec" => put_code(said, code(xml, "dataRef")?.as_deref()),
        "pc" => {
            put_code(said, code(xml, "dataRefStart")?.as_deref());
            return Ok(Open::Spanning(code(xml, "dataRefEnd")?));
        }
        "cp" => {
            let number = tag.attribute("hex").and_then(|hex| u32::from_str_radix(hex, 16).ok());
            match number.and_then(char::from_u32) {
                Some(character) => said.text.push(character),
                None => said.has_bare_code = true,
            }
        }
        _ => said.has_bare_code = true,
    }
    Ok(Open::Content)
}
