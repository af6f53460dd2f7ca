//! Q03, markup: the target has the tags of its source with the attributes they have, leads where they lead, is nested as
//! well, and has nothing in it that a browser would run.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

use super::addresses::Addresses;
use super::compared::compare;
use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};
use super::readers::{Attribute, Tag, TagKind, is_void, known_element};
use super::reading::Reading;

/// Elements that run, load or take over something.
const UNSAFE_ELEMENTS: [&str; 14] = [
    "applet", "base", "embed", "form", "frame", "frameset", "iframe", "link", "math", "meta", "object", "script",
    "style", "svg",
];

/// Attributes whose value leads somewhere.
const LEADING: [&str; 10] =
    ["href", "src", "action", "formaction", "cite", "data", "poster", "srcset", "xlink:href", "background"];

/// Attributes whose value is a program or a page, beside those that begin with `on`.
const RUNNING: [&str; 2] = ["style", "srcdoc"];

/// Unsafe elements whose text is a program.
const PROGRAMS: [&str; 2] = ["script", "style"];

/// What begins a part of a text that nobody is shown, or that something else reads.
const HIDING: [&str; 4] = ["<!--", "<![", "<!", "<?"];

/// Judges a text.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (&pair.source, &pair.target);
    let dangers = beyond(dangers, source, target).into_iter().map(|danger| danger.label.into_owned());
    let dangers: Vec<String> = dangers.collect();
    let has_markup = |reading: &Reading<'_>| !reading.markup.tags.is_empty() || !reading.markup.cut.is_empty();
    if !has_markup(source) && !has_markup(target) && dangers.is_empty() {
        return Outcome::Skipped("markup");
    }
    let tags =
        compare(subject, pair, |reading| reading.markup.tags.iter().map(|tag| (tag.range.start, label(tag))).collect());
    let addresses = Addresses::of(subject, pair, |reading| leads(reading).map(|(_, value)| value).collect());
    let leads =
        compare(subject, pair, |reading| leads(reading).map(|(at, value)| (at, addresses.key_of(value))).collect());
    let cut = beyond(|reading| reading.markup.cut.iter().map(|name| format!("<{name}")).collect(), source, target);
    let is_nested = nesting_fault(&source.markup.tags).is_none();
    let crossing: Vec<String> = nesting_fault(&target.markup.tags).filter(|_| is_nested).into_iter().collect();
    let kinds = [
        ("missing", tags.missing),
        ("extra", tags.extra),
        ("missing target", leads.missing),
        ("extra target", leads.extra),
        ("not nested", crossing),
        ("never ends", cut),
        ("unsafe", dangers),
    ];
    let items = kinds.each_ref().map(|(_, items)| borrowed(items));
    let told_kinds: Vec<(&str, &[&str])> =
        kinds.iter().zip(&items).map(|((kind, _), items)| (*kind, items.as_slice())).collect();
    let detail = told(&told_kinds);
    if detail.is_empty() { Outcome::Pass } else { Outcome::Fail(detail) }
}

/// The name of an element: HTML does not tell upper from lower case.
fn element<'a>(tag: &Tag<'a>) -> &'a str {
    known_element(tag.name).unwrap_or(tag.name)
}

/// The tag with the names of its attributes, in the order of the alphabet.
fn label(tag: &Tag<'_>) -> String {
    let name = element(tag);
    if tag.kind == TagKind::Close {
        return format!("</{name}>");
    }
    let mut names: Vec<String> = tag.attributes.iter().map(|attribute| attribute.name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    names.insert(0, name.to_owned());
    let slash = if tag.kind == TagKind::Empty && !is_void(name) { "/" } else { "" };
    format!("<{}{slash}>", names.join(" "))
}

fn leads_somewhere(attribute: &Attribute<'_>) -> bool {
    LEADING.iter().any(|name| name.eq_ignore_ascii_case(attribute.name))
}

/// Where the tags of a text lead, and where in it.
fn leads<'a>(reading: &Reading<'a>) -> impl Iterator<Item = (usize, &'a str)> {
    let is_leading = |attribute: &&Attribute<'_>| !attribute.value.is_empty() && leads_somewhere(attribute);
    reading.markup.tags.iter().flat_map(move |tag| {
        tag.attributes.iter().filter(is_leading).map(|attribute| (tag.range.start, attribute.value.trim()))
    })
}

/// The first tag that closes what is not the last one open, or the last one that is left open.
fn nesting_fault(tags: &[Tag<'_>]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for tag in tags.iter().filter(|tag| !is_void(tag.name)) {
        let name = element(tag);
        match tag.kind {
            TagKind::Empty => {}
            TagKind::Open => open.push(name),
            TagKind::Close if open.last() == Some(&name) => drop(open.pop()),
            TagKind::Close => return Some(format!("</{name}>")),
        }
    }
    open.last().map(|name| format!("<{name}>"))
}

/// What the target has more often than the source, each once.
fn beyond<'a, T: Eq + Hash>(of: impl Fn(&Reading<'a>) -> Vec<T>, source: &Reading<'a>, target: &Reading<'a>) -> Vec<T> {
    let mut found = of(target);
    if found.is_empty() {
        return found;
    }
    let mut left = HashMap::<T, usize>::new();
    of(source).into_iter().for_each(|item| *left.entry(item).or_default() += 1);
    found.retain(|item| match left.get_mut(item) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    found
}

/// Something that a browser would run, or that takes over the page or hides a part of it.
#[derive(PartialEq, Eq, Hash)]
struct Danger<'a> {
    /// As it is told.
    label: Cow<'a, str>,
    /// The program, where it stands here: another one is another danger.
    program: &'a str,
}

impl<'a> Danger<'a> {
    fn of(label: &'a str) -> Danger<'a> {
        Danger { label: Cow::Borrowed(label), program: "" }
    }
}

/// Everything in a text that a browser would run, or that would take over the page, or hide what other checks look for.
fn dangers<'a>(reading: &Reading<'a>) -> Vec<Danger<'a>> {
    let mut found = Vec::new();
    let tags = &reading.markup.tags;
    let ends = program_ends(reading);
    // Up to where a program has been found: what looks like another in it is a part of it, and is compared with it.
    let mut known = 0;
    for (tag, end) in tags.iter().zip(ends).filter(|(tag, _)| tag.kind != TagKind::Close) {
        let name = element(tag);
        if UNSAFE_ELEMENTS.contains(&name) {
            let is_program = PROGRAMS.contains(&name) && tag.range.end >= known;
            let program = if is_program { program(reading.text, tag, end) } else { "" };
            known = known.max(tag.range.end + program.len());
            found.push(Danger { label: format!("<{name}>").into(), program });
        }
        for attribute in &tag.attributes {
            let is_running = attribute.runs() || RUNNING.iter().any(|name| name.eq_ignore_ascii_case(attribute.name));
            if is_running {
                found.push(Danger { label: attribute.name.to_ascii_lowercase().into(), program: attribute.value });
            }
            let is_told = |scheme: &&str| *scheme != "data:" || leads_somewhere(attribute);
            if let Some(scheme) = unsafe_scheme(attribute.value).filter(is_told) {
                found.push(Danger::of(scheme));
            }
        }
    }
    let others = reading.markup.others.iter().filter_map(|range| reading.text.get(range.clone()));
    let hiding = others.filter_map(|other| HIDING.into_iter().find(|start| other.starts_with(start)));
    for label in hiding.chain(reading.prose().flat_map(script_schemes)) {
        found.push(Danger::of(label));
    }
    found
}

/// For each tag, where the program that it may begin ends: where an element of its name is closed next, whatever looks like
/// a tag before that, else with the text.
fn program_ends(reading: &Reading<'_>) -> Vec<usize> {
    let mut closes = PROGRAMS.map(|name| (name, reading.text.len()));
    let end_of = |tag: &Tag<'_>| {
        let Some((_, end)) = closes.iter_mut().find(|(name, _)| *name == element(tag)) else { return tag.range.end };
        if tag.kind == TagKind::Close {
            *end = tag.range.start;
        }
        *end
    };
    let mut ends: Vec<usize> = reading.markup.tags.iter().rev().map(end_of).collect();
    ends.reverse();
    ends
}

/// The program that a tag begins. Behind `<!--` a browser may not end it where it would else, and one that is empty in XML
/// is so for a browser inside SVG alone: of both everything counts that follows.
fn program<'a>(text: &'a str, tag: &Tag<'_>, end: usize) -> &'a str {
    let program = text.get(tag.range.end..end).unwrap_or_default();
    let is_endless = tag.kind == TagKind::Empty || program.contains("<!--");
    if is_endless { text.get(tag.range.end..).unwrap_or_default() } else { program }
}

/// `javascript:` and the like in a text, where something follows: links of other kinds of markup may lead there.
fn script_schemes(prose: &str) -> impl Iterator<Item = &'static str> {
    prose.match_indices(':').filter_map(|(colon, _)| {
        let follows = prose.get(colon + 1..)?.chars().next().is_some_and(|next| !next.is_whitespace());
        let ends_with = |scheme: &&str| {
            let start = (colon + 1).checked_sub(scheme.len());
            start.and_then(|start| prose.get(start..=colon)).is_some_and(|end| end.eq_ignore_ascii_case(scheme))
        };
        ["javascript:", "vbscript:"].into_iter().find(ends_with).filter(|_| follows)
    })
}

/// The scheme of an attribute's value, if it runs something; as a browser reads it, which goes past white space and
/// controls, and reads character references first.
fn unsafe_scheme(value: &str) -> Option<&'static str> {
    const LONGEST: usize = "javascript:".len();
    let mut head = String::new();
    let mut rest = value;
    while let Some(first) = rest.chars().next().filter(|_| head.len() < LONGEST) {
        let (character, length) = reference(rest).unwrap_or((first, first.len_utf8()));
        rest = rest.get(length..).unwrap_or_default();
        if character > ' ' {
            head.push(character.to_ascii_lowercase());
        }
    }
    ["javascript:", "vbscript:", "data:"].into_iter().find(|scheme| head.starts_with(scheme))
}

/// The character reference that a text begins with, and its length. A number may do without its semicolon.
fn reference(text: &str) -> Option<(char, usize)> {
    const NAMED: [(&str, char); 3] = [("&colon;", ':'), ("&Tab;", '\t'), ("&NewLine;", '\n')];
    if let Some((name, character)) = NAMED.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*character, name.len()));
    }
    let number = text.strip_prefix("&#")?;
    let (digits, radix) = number.strip_prefix(['x', 'X']).map_or((number, 10), |digits| (digits, 16));
    let length = digits.find(|digit: char| !digit.is_digit(radix)).unwrap_or(digits.len());
    let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
    let semicolon = usize::from(digits.get(length..)?.starts_with(';'));
    Some((char::from_u32(code)?, text.len() - digits.len() + length + semicolon))
}
