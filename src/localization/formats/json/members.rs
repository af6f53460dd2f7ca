//! Members of JSON objects that come and go.

use super::read::decode;
use super::write::write_string;
use crate::formats::bytes::part;
use crate::formats::model::{Forms, Leaf, Style};
use crate::formats::plan::Plan;
use crate::language::Category;

/// Takes out members: `omitted` ones with one comma and no other byte, `retired` ones with the white space up to the
/// next member, too. A member takes the comma behind it if a member follows that stays, else the one before it.
pub fn omit(plan: &mut Plan<'_, '_>, omitted: &[bool], retired: &[bool]) {
    let members = &plan.document.scan.members;
    let goes = |index: usize| {
        let is = |flags: &[bool]| flags.get(index).copied().unwrap_or(false);
        (is(omitted) || is(retired)).then(|| is(retired))
    };
    if (0..members.len()).all(|index| goes(index).is_none()) {
        return;
    }
    let objects = members.iter().map(|member| member.object + 1).max().unwrap_or(0);
    let mut last_kept = vec![None; objects];
    for (index, member) in members.iter().enumerate() {
        if let Some(last) = last_kept.get_mut(member.object).filter(|_| goes(index).is_none()) {
            *last = Some(index);
        }
    }
    let mut comma_before = vec![None; objects];
    let mut cuts = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let Some(before) = comma_before.get_mut(member.object) else { continue };
        let before = std::mem::replace(before, member.comma);
        let Some(tidily) = goes(index) else { continue };
        let followed = last_kept.get(member.object).copied().flatten().is_some_and(|last| last > index);
        match (followed, tidily) {
            (true, true) => {
                let comma = member.comma.map_or(member.end, |comma| comma + 1);
                cuts.push(member.start..comma + white_space_at(plan.document.bytes, comma).len());
            }
            (true, false) => {
                cuts.push(member.start..member.end);
                cuts.extend(member.comma.map(|comma| comma..comma + 1));
            }
            (false, true) => cuts.push(before.unwrap_or(member.start)..member.end),
            (false, false) => {
                cuts.extend(before.map(|comma: usize| comma..comma + 1));
                cuts.push(member.start..member.end);
            }
        }
    }
    for cut in cuts {
        plan.replace(cut, String::new());
    }
}

/// Gives a plural the members that `forms` has: adds those it lacks, and marks in `retired` those it must lose.
pub fn rewrite_plural<'e>(
    plan: &mut Plan<'_, 'e>,
    members: &[(Category, usize)],
    forms: &'e Forms,
    retired: &mut [bool],
) {
    let mut kept: Vec<(Category, &Leaf)> = Vec::new();
    for (category, index) in members {
        let Some(leaf) = plan.leaf(*index) else { continue };
        if forms.contains_key(category) {
            kept.push((*category, leaf));
            continue;
        }
        plan.forget(*index);
        if let Style::Json { member: Some(member) } = leaf.style
            && let Some(flag) = retired.get_mut(member)
        {
            *flag = true;
        }
    }
    let Some(other) = kept.iter().find(|(category, _)| *category == Category::Other).map(|(_, leaf)| *leaf) else {
        return;
    };
    for (category, text) in forms {
        if kept.iter().any(|(known, _)| known == category) {
            continue;
        }
        let lower = kept.iter().filter(|(known, _)| known < category).max_by_key(|(known, _)| *known);
        let anchor = lower.map_or(other, |(_, leaf)| *leaf);
        let bytes = plan.document.bytes;
        let name = renamed_key(bytes, other, *category);
        let colon = String::from_utf8_lossy(part(bytes, anchor.key.end..anchor.value.start));
        let member = format!("{name}{colon}{}", written(plan, text));
        let space = white_space_before(bytes, anchor.key.start);
        let stem = other.path.strip_suffix(Category::Other.name()).unwrap_or_default();
        let path = format!("{stem}{}", category.name());
        match lower {
            Some(_) => plan.insert(anchor.value.end, format!(",{space}{member}"), path, text),
            None => {
                let first = kept.iter().map(|(_, leaf)| *leaf).min_by_key(|leaf| leaf.key.start).unwrap_or(other);
                let space = white_space_before(bytes, first.key.start);
                plan.insert(first.key.start, format!("{member},{space}"), path, text);
            }
        }
    }
}

/// A value as the file writes its own.
fn written(plan: &Plan<'_, '_>, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(&mut out, text, plan.ascii, plan.document.scan.escaped_slashes);
    out
}

/// The name of `other`'s sibling, written as `other`'s is.
fn renamed_key(bytes: &[u8], other: &Leaf, category: Category) -> String {
    let written = String::from_utf8_lossy(part(bytes, other.key.clone()));
    let mut out = String::new();
    match written.strip_suffix("other\"") {
        Some(stem) => {
            out.push_str(stem);
            out.push_str(category.name());
            out.push('"');
        }
        // The suffix itself is written with escapes.
        None => {
            let name = decode(&written);
            let stem = name.strip_suffix(Category::Other.name()).unwrap_or_default();
            write_string(&mut out, &format!("{stem}{}", category.name()), false, false);
        }
    }
    out
}

fn white_space_at(bytes: &[u8], at: usize) -> &[u8] {
    let rest = part(bytes, at..);
    part(rest, ..rest.iter().take_while(|byte| is_white_space(**byte)).count())
}

/// The white space that ends before byte `at`.
fn white_space_before(bytes: &[u8], at: usize) -> String {
    let before = part(bytes, ..at);
    let length = before.iter().rev().take_while(|byte| is_white_space(**byte)).count();
    before.iter().skip(before.len() - length).map(|byte| char::from(*byte)).collect()
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
