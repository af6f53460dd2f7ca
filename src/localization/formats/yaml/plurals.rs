//! Members of rails plurals that come and go.

use std::ops::Range;

use super::blocks::{break_length, keeps_breaks, lacks_break, line_end};
use super::write::{write_beside, write_key, write_value};
use crate::formats::bytes::part;
use crate::formats::model::{Forms, Leaf, Style};
use crate::formats::plan::Plan;
use crate::language::Category;

/// Gives a plural the members that `forms` has: takes out those it must lose, adds those it lacks. `members` are all
/// entries of one mapping, in file order.
pub fn rewrite_plural<'e>(plan: &mut Plan<'_, 'e>, members: &[(Category, usize)], forms: &'e Forms) {
    let leaves: Vec<(Category, usize, &Leaf)> =
        members.iter().filter_map(|(category, index)| Some((*category, *index, plan.leaf(*index)?))).collect();
    let kept: Vec<(Category, &Leaf)> = leaves
        .iter()
        .filter(|(category, ..)| forms.contains_key(category))
        .map(|(category, _, leaf)| (*category, *leaf))
        .collect();
    let Some(other) = kept.iter().find(|(category, _)| *category == Category::Other).map(|(_, leaf)| *leaf) else {
        return;
    };
    let flow = is_flow(other);
    remove(plan, &leaves, forms, flow);
    let bytes = plan.document.bytes;
    // What stands behind it would give it a line break.
    let mut unbroken = leaves
        .iter()
        .find(|(category, index, leaf)| {
            forms.contains_key(category) && plan.is_kept(*index) && lacks_break(bytes, leaf)
        })
        .map(|(category, ..)| *category);
    let stem = other.path.strip_suffix(Category::Other.name()).unwrap_or_default();
    for (category, text) in forms {
        if kept.iter().any(|(known, _)| known == category) {
            continue;
        }
        let lower = kept.iter().filter(|(known, _)| known < category).max_by_key(|(known, _)| *known);
        let anchor = lower.map_or(other, |(_, leaf)| *leaf);
        let mut member = write_key(bytes, &anchor.key, category.name());
        member.push_str(": ");
        write_beside(&mut member, bytes, anchor, text, plan.ascii);
        let path = format!("{stem}{}", category.name());
        let first = kept.iter().map(|(_, leaf)| entry_start(bytes, leaf)).min().unwrap_or(other.key.start);
        match (lower, flow) {
            (Some(_), true) => plan.insert(anchor.value.end, format!(", {member}"), path, text),
            (None, true) => plan.insert(first, format!("{member}, "), path, text),
            (Some((lower, _)), false) => {
                if unbroken.take_if(|unbroken| unbroken == lower).is_some() {
                    let mut written = String::new();
                    write_value(&mut written, bytes, anchor, forms.get(lower).map_or("", String::as_str), plan.ascii);
                    plan.replace(anchor.value.clone(), written);
                }
                let at = line_end(bytes, anchor.value.end);
                let written =
                    format!("{}{}{member}", line_break(bytes), indentation(bytes, entry_start(bytes, anchor)));
                plan.insert(at, written, path, text);
            }
            (None, false) => {
                let written = format!("{member}{}{}", line_break(bytes), indentation(bytes, first));
                plan.insert(first, written, path, text);
            }
        }
    }
}

/// Takes out members: in braces with one comma, else with their lines.
fn remove(plan: &mut Plan<'_, '_>, leaves: &[(Category, usize, &Leaf)], forms: &Forms, flow: bool) {
    let bytes = plan.document.bytes;
    let stays = |at: usize| leaves.get(at).is_some_and(|(category, ..)| forms.contains_key(category));
    let last_kept = (0..leaves.len()).rev().find(|at| stays(*at)).unwrap_or(0);
    // A block scalar needs the line break at its end; other values may end where the file does.
    let ends_block = leaves.get(last_kept).is_some_and(|(_, _, leaf)| matches!(leaf.style, Style::Block { .. }));
    let mut above: Option<&Leaf> = None;
    // What has come to stand behind the dash, in place of entries that are gone.
    let mut risen = None;
    for (at, (_, index, leaf)) in leaves.iter().enumerate() {
        if stays(at) {
            above = Some(leaf);
            continue;
        }
        plan.forget(*index);
        let start = entry_start(bytes, leaf);
        let next = leaves.get(at + 1).map(|(_, _, next)| entry_start(bytes, next));
        let previous = at.checked_sub(1).and_then(|at| leaves.get(at)).map(|(_, _, previous)| previous.value.end);
        let begins_line = blank_before(bytes, start).is_some() && risen != Some(start);
        let tail = at > last_kept;
        let range = match (flow, next, previous) {
            (true, Some(next), _) if !tail => start..next,
            (true, _, Some(previous)) => previous..leaf.value.end,
            (true, _, None) => start..leaf.value.end,
            // The first entry stands behind what its mapping belongs to, such as a dash.
            (false, Some(_), _) if !begins_line => {
                let end = text_behind(bytes, line_end(bytes, leaf.value.end));
                risen = Some(end);
                start..end
            }
            (false, _, Some(previous)) if tail && !ends_block => {
                line_end(bytes, previous)..line_end(bytes, leaf.value.end)
            }
            (false, ..) => lines_of(bytes, leaf, above),
        };
        plan.replace(range, String::new());
    }
}

/// The lines of a member that stands below `above`, and the blank lines and comments behind them that would otherwise
/// become part of that one.
fn lines_of(bytes: &[u8], leaf: &Leaf, above: Option<&Leaf>) -> Range<usize> {
    let start = entry_start(bytes, leaf);
    let start = start - blank_before(bytes, start).unwrap_or(0);
    let end = line_end(bytes, leaf.value.end);
    let mut end = end + break_length(bytes, end);
    let Some(above) = above else { return start..end };
    let Style::Block { indent, .. } = above.style else { return start..end };
    let keeps = keeps_breaks(bytes, above);
    let mut at = end;
    while at < bytes.len() {
        let line = part(bytes, at..line_end(bytes, at));
        let blanks = line.iter().take_while(|byte| **byte == b' ').count();
        let is_blank = blanks == line.len();
        let is_absorbed = match line.get(blanks) {
            None => blanks > indent,
            Some(next) => blanks >= indent && matches!(next, b'#' | b'\t'),
        };
        if !is_blank && !is_absorbed {
            break;
        }
        at += line.len() + break_length(bytes, at + line.len());
        if is_absorbed || keeps {
            end = at;
        }
    }
    start..end
}

/// Whether a member stands in braces.
fn is_flow(leaf: &Leaf) -> bool {
    match leaf.style {
        Style::Plain { flow } | Style::Single { flow } | Style::Double { flow } => flow,
        _ => false,
    }
}

/// Where a member begins: with its key or with the tag `!` before that.
fn entry_start(bytes: &[u8], leaf: &Leaf) -> usize {
    let before = part(bytes, ..leaf.key.start);
    let blanks = before.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let tag_end = before.len() - blanks;
    if blanks > 0 && part(before, ..tag_end).last() == Some(&b'!') { tag_end - 1 } else { leaf.key.start }
}

/// Where something else stands than blanks and line breaks, from `at` on.
fn text_behind(bytes: &[u8], at: usize) -> usize {
    let rest = part(bytes, at..);
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// How many blanks stand before `at` in its line, if nothing else does.
fn blank_before(bytes: &[u8], at: usize) -> Option<usize> {
    let before = part(bytes, ..at);
    let blanks = before.iter().rev().take_while(|byte| **byte == b' ').count();
    matches!(part(before, ..at - blanks).last(), None | Some(b'\n' | b'\r')).then_some(blanks)
}

/// As many blanks as the column of the member that begins at `start`.
fn indentation(bytes: &[u8], start: usize) -> String {
    let line = part(bytes, ..start);
    let begin = line.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    let line = String::from_utf8_lossy(part(line, begin..));
    let line = line.strip_prefix('\u{feff}').unwrap_or(&line);
    " ".repeat(line.chars().count())
}

/// The line break that the file uses first.
fn line_break(bytes: &[u8]) -> &'static str {
    let end = line_end(bytes, 0);
    match part(bytes, end..) {
        [b'\r', b'\n', ..] => "\r\n",
        [b'\r', ..] => "\r",
        _ => "\n",
    }
}
