//! The attributes of tables and cells, with Graphviz's words for bad ones.

use super::model::{Across, Along, Cell, Frame, FrameStyle, Table};
use crate::graph::values::leading_whole;
use crate::warnings::Warnings;

/// The largest border, padding and spacing.
const LARGEST_SPACE: i64 = 255;

/// The largest width and height.
const LARGEST_SIZE: i64 = 65_535;

/// The most rows or columns a cell may span. More would only be work.
const LARGEST_SPAN: i64 = 1_000;

/// Reads a number of an attribute, within bounds.
fn number(name: &str, value: &str, least: i64, most: i64, warnings: &mut Warnings) -> Option<i64> {
    match leading_whole(value) {
        None => warnings.push(format!("Improper {name} value {value} - ignored")),
        Some(number) if number < least => {
            warnings.push(format!("{name} value {number} < {least} - too small - ignored"));
        }
        Some(number) if number > most => {
            warnings.push(format!("{name} value {number} > {most} - too large - ignored"));
        }
        Some(number) => return Some(number),
    }
    None
}

fn style(value: &str, warnings: &mut Warnings) -> FrameStyle {
    let mut style = FrameStyle::default();
    for word in value.split([',', ' ']).filter(|word| !word.is_empty()) {
        match word.to_ascii_lowercase().as_str() {
            "rounded" => style.rounded = true,
            "radial" => style.radial = true,
            "invisible" | "invis" => style.invisible = true,
            "dashed" => (style.dashed, style.dotted) = (true, false),
            "dotted" => (style.dashed, style.dotted) = (false, true),
            "solid" => (style.dashed, style.dotted) = (false, false),
            _ => warnings.push(format!("Illegal value {word} for STYLE - ignored")),
        }
    }
    style
}

/// What tables and cells have in common; false if it is none of that.
fn common(frame: &mut Frame, key: &str, value: &str, warnings: &mut Warnings) -> bool {
    let mut space = |name: &str, least: i64| number(name, value, least, LARGEST_SPACE, warnings).map(|n| n as f64);
    match key {
        "BORDER" => frame.border = space(key, 0).or(frame.border),
        "CELLPADDING" => frame.padding = space(key, 0).or(frame.padding),
        "CELLSPACING" => frame.spacing = space(key, -128).or(frame.spacing),
        "WIDTH" => frame.width = number(key, value, 0, LARGEST_SIZE, warnings).unwrap_or(0) as f64,
        "HEIGHT" => frame.height = number(key, value, 0, LARGEST_SIZE, warnings).unwrap_or(0) as f64,
        "FIXEDSIZE" => match value.to_ascii_uppercase().as_str() {
            "TRUE" => frame.is_fixed = true,
            "FALSE" => frame.is_fixed = false,
            _ => warnings.push(format!("Illegal value {value} for FIXEDSIZE - ignored")),
        },
        "VALIGN" => match value.to_ascii_uppercase().as_str() {
            "TOP" => frame.along = Along::Top,
            "BOTTOM" => frame.along = Along::Bottom,
            "MIDDLE" => frame.along = Along::Middle,
            _ => warnings.push(format!("Illegal value {value} for VALIGN - ignored")),
        },
        "BGCOLOR" => frame.background = Some(value.to_owned()),
        "COLOR" => frame.color = Some(value.to_owned()),
        "GRADIENTANGLE" => frame.angle = number(key, value, 0, 360, warnings).unwrap_or(0) as f64,
        "STYLE" => frame.style = style(value, warnings),
        "SIDES" => {
            let has = |side: char| value.to_ascii_uppercase().contains(side);
            let sides = [has('B'), has('R'), has('T'), has('L')];
            for c in value.chars().filter(|c| !"BRTLbrtl".contains(*c)) {
                warnings.push(format!("Unrecognized character '{c}' ({}) in sides attribute", c as u32));
            }
            frame.sides = Some(sides).filter(|sides| *sides != [true; 4] && *sides != [false; 4]);
        }
        "PORT" => frame.port = Some(value.to_owned()),
        "HREF" => frame.href = Some(value.to_owned()),
        "TARGET" => frame.target = Some(value.to_owned()),
        "TITLE" | "TOOLTIP" => frame.title = Some(value.to_owned()),
        "ID" => frame.id = Some(value.to_owned()),
        _ => return false,
    }
    true
}

fn align(value: &str, element: &str, warnings: &mut Warnings) -> Option<Across> {
    match value.to_ascii_uppercase().as_str() {
        "LEFT" => Some(Across::Left),
        "RIGHT" => Some(Across::Right),
        "CENTER" => Some(Across::Center),
        _ => {
            warnings.push(format!("Illegal value {value} for ALIGN in {element} - ignored"));
            None
        }
    }
}

fn illegal(key: &str, element: &str, warnings: &mut Warnings) {
    warnings.push(format!("Illegal attribute {} in <{element}> - ignored", key.to_lowercase()));
}

/// Reads the attributes of `<TABLE>`.
pub(super) fn table(table: &mut Table, attributes: Vec<(String, String)>, warnings: &mut Warnings) {
    for (key, value) in attributes {
        match key.as_str() {
            "CELLBORDER" => {
                table.cell_border = number(&key, &value, 0, 127, warnings).map(|n| n as f64).or(table.cell_border);
            }
            "ALIGN" => table.frame.across = align(&value, "TABLE", warnings).unwrap_or_default(),
            "ROWS" if value == "*" => table.has_row_rules = true,
            "COLUMNS" if value == "*" => table.has_column_rules = true,
            "ROWS" | "COLUMNS" => warnings.push(format!("Unknown value {value} for {key} - ignored")),
            _ => {
                if !common(&mut table.frame, &key, &value, warnings) {
                    illegal(&key, "TABLE", warnings);
                }
            }
        }
    }
}

/// Reads the attributes of `<TD>`.
pub(super) fn cell(cell: &mut Cell, attributes: Vec<(String, String)>, warnings: &mut Warnings) {
    for (key, value) in attributes {
        match key.as_str() {
            "COLSPAN" | "ROWSPAN" => {
                let span = match number(&key, &value, 0, LARGEST_SIZE, warnings) {
                    Some(0) => {
                        warnings.push(format!("{key} value cannot be 0 - ignored"));
                        None
                    }
                    other => other.map(|span| span.min(LARGEST_SPAN) as usize),
                };
                match key.as_str() {
                    "COLSPAN" => cell.column_span = span,
                    _ => cell.row_span = span,
                }
            }
            "ALIGN" if value.eq_ignore_ascii_case("TEXT") => cell.is_text_wide = true,
            "ALIGN" => cell.frame.across = align(&value, "TD", warnings).unwrap_or_default(),
            "BALIGN" => match value.to_ascii_uppercase().as_str() {
                "LEFT" => cell.line_across = Across::Left,
                "RIGHT" => cell.line_across = Across::Right,
                "CENTER" => cell.line_across = Across::Center,
                _ => warnings.push(format!("Illegal value {value} for BALIGN in TD - ignored")),
            },
            _ => {
                if !common(&mut cell.frame, &key, &value, warnings) {
                    illegal(&key, "TD", warnings);
                }
            }
        }
    }
}
