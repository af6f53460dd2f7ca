//! How large tables are, and where their cells lie.

use super::model::{Cell, Content, Line, Table};
use super::parse::LARGEST_GRID;
use crate::geometry::{Point, Rect, Size};
use crate::text::LINE_SPACING;
use crate::warnings::Warnings;

/// The border and padding of a cell where nothing says it.
const DEFAULT_BORDER: f64 = 1.0;
const DEFAULT_PADDING: f64 = 2.0;

/// Whether all lines are one piece of one plain font: such text is spaced as an ordinary label.
pub(crate) fn is_simple(lines: &[Line]) -> bool {
    let mut spans = lines.iter().flat_map(|line| &line.spans);
    let Some(first) = spans.next() else { return true };
    let font = &first.font;
    lines.iter().all(|line| line.spans.len() == 1)
        && font.style == crate::text::FontStyle::default()
        && spans.all(|span| span.font == *font)
}

/// The size of lines of text.
pub(crate) fn text_size(lines: &[Line]) -> Size {
    let width = lines.iter().map(|line| line.width).fold(0.0, f64::max);
    let sum: f64 = lines.iter().map(|line| line.font_size).sum();
    // Lines in several fonts lie closer: observed.
    let is_spaced = is_simple(lines) || lines.len() == 1;
    Size::new(width, if is_spaced { sum * LINE_SPACING } else { sum })
}

/// Sizes what is in a cell or a label.
pub(super) fn content_size(content: &mut Content, warnings: &mut Warnings) -> Size {
    match content {
        Content::Empty => Size::default(),
        Content::Text(lines) => text_size(lines),
        Content::Table(table) => {
            table_size(table, warnings);
            table.size
        }
    }
}

fn cell_size(cell: &mut Cell, warnings: &mut Warnings) {
    let inside = content_size(&mut cell.content, warnings);
    let around = 2.0 * (cell.border + cell.padding);
    let needs = Size::new(inside.width + around, inside.height + around);
    let frame = &cell.frame;
    if frame.is_fixed {
        if frame.width > 0.0 && frame.height > 0.0 {
            if needs.width > frame.width || needs.height > frame.height {
                warnings.push("cell size too small for content".to_owned());
            }
            cell.size = Size::new(frame.width, frame.height);
            return;
        }
        warnings.push("fixed cell size with unspecified width or height".to_owned());
    }
    cell.size = Size::new(needs.width.max(frame.width), needs.height.max(frame.height));
}

/// Gives each cell its row and column: the first that is free, as in HTML. The numbers of columns and rows.
fn place_in_grid(table: &mut Table) -> (usize, usize) {
    // For each column, the first row in which it is free.
    let mut free: Vec<usize> = Vec::new();
    let mut rows = 0;
    for (row, cells) in table.rows.iter_mut().enumerate() {
        let mut column = 0;
        for cell in cells {
            let (width, height) = (cell.columns(), cell.rows());
            // Behind the last column that is taken on the way.
            let mut end = column;
            while end < column + width && column < LARGEST_GRID {
                if free.get(end).is_some_and(|from| *from > row) {
                    column = end + 1;
                }
                end += 1;
            }
            // What stands outside of the largest grid stands on its edge.
            column = column.min(LARGEST_GRID);
            (cell.row, cell.column) = (row, column);
            if free.len() < column + width {
                free.resize(column + width, 0);
            }
            if let Some(taken) = free.get_mut(column..column + width) {
                taken.fill(row + height);
            }
            column += width;
            rows = rows.max(row + height);
        }
    }
    (free.len(), rows)
}

/// Widens lines so that each part fits: those of one line first, then the others in order, each sharing what is
/// missing evenly.
fn fit(lines: &mut [f64], parts: &[(usize, usize, f64)], spacing: f64) {
    for (from, _, needs) in parts.iter().filter(|part| part.1 == 1) {
        if let Some(line) = lines.get_mut(*from) {
            *line = line.max(*needs);
        }
    }
    for (from, count, needs) in parts.iter().filter(|part| part.1 > 1) {
        let Some(spanned) = lines.get_mut(*from..*from + *count) else { continue };
        let has: f64 = spanned.iter().sum::<f64>() + (*count as f64 - 1.0) * spacing;
        if has < *needs {
            let more = (*needs - has) / *count as f64;
            spanned.iter_mut().for_each(|line| *line += more);
        }
    }
}

/// Sizes a table with all that is in it.
fn table_size(table: &mut Table, warnings: &mut Warnings) {
    let border = table.border();
    let cell_border = table.cell_border;
    let padding = table.frame.padding;
    for cell in table.rows.iter_mut().flatten() {
        cell.border = cell.frame.border.or(cell_border).or(table.frame.border).unwrap_or(DEFAULT_BORDER);
        cell.padding = cell.frame.padding.or(padding).unwrap_or(DEFAULT_PADDING);
        cell_size(cell, warnings);
    }
    let (columns, rows) = place_in_grid(table);
    let spacing = table.spacing();
    let parts = |across: bool| -> Vec<(usize, usize, f64)> {
        let cells = table.rows.iter().flatten();
        cells
            .map(|cell| match across {
                true => (cell.column, cell.columns(), cell.size.width),
                false => (cell.row, cell.rows(), cell.size.height),
            })
            .collect()
    };
    let (mut widths, mut heights) = (vec![0.0; columns], vec![0.0; rows]);
    fit(&mut widths, &parts(true), spacing);
    fit(&mut heights, &parts(false), spacing);
    let total = |lines: &[f64]| lines.iter().sum::<f64>() + (lines.len() as f64 + 1.0) * spacing + 2.0 * border;
    let needs = Size::new(total(&widths), total(&heights));
    (table.widths, table.heights) = (widths, heights);
    let frame = &table.frame;
    let mut size = Size::new(needs.width.max(frame.width), needs.height.max(frame.height));
    if frame.is_fixed {
        if frame.width > 0.0 && frame.height > 0.0 {
            if needs.width > frame.width || needs.height > frame.height {
                warnings.push("table size too small for content".to_owned());
            }
            size = Size::new(frame.width, frame.height);
        } else {
            warnings.push("fixed table size with unspecified width or height".to_owned());
        }
    }
    table.size = size;
}

/// Puts a table and its cells into `rect`. What `rect` has more than the table is shared by its columns and rows.
pub(super) fn place_table(table: &mut Table, rect: Rect) {
    let mut rect = rect;
    if table.frame.is_fixed && table.frame.width > 0.0 && table.frame.height > 0.0 {
        rect = aligned(rect, table.size, table.frame.across, table.frame.along);
    }
    let extra = Point::new(rect.width() - table.size.width, rect.height() - table.size.height);
    let more = |extra: f64, count: usize| if extra > 0.0 { extra / count.max(1) as f64 } else { 0.0 };
    let (more_width, more_height) = (more(extra.x, table.widths.len()), more(extra.y, table.heights.len()));
    table.frame.rect = rect;
    let (border, spacing) = (table.border(), table.spacing());
    // Where columns and rows begin; the last is where one more would.
    let starts = |lines: &[f64], more: f64, first: f64| -> Vec<f64> {
        let mut at = first;
        let mut starts = vec![at];
        for line in lines {
            at += line + more + spacing;
            starts.push(at);
        }
        starts
    };
    let lefts = starts(&table.widths, more_width, rect.low.x + border + spacing);
    let tops = starts(&table.heights, more_height, -rect.high.y + border + spacing);
    for cell in table.rows.iter_mut().flatten() {
        let at = |starts: &[f64], i: usize| starts.get(i).copied().unwrap_or_default();
        let (left, right) = (at(&lefts, cell.column), at(&lefts, cell.column + cell.columns()) - spacing);
        let (top, bottom) = (-at(&tops, cell.row), -at(&tops, cell.row + cell.rows()) + spacing);
        place_cell(cell, Rect::new(Point::new(left, bottom), Point::new(right, top)));
    }
}

fn place_cell(cell: &mut Cell, rect: Rect) {
    cell.frame.rect = rect;
    let inset = cell.border + cell.padding;
    let inset = Point::new(inset, inset);
    let inside = Rect::new(rect.low + inset, rect.high - inset);
    if let Content::Table(table) = &mut cell.content {
        place_table(table, inside);
    }
}

/// A box of `size` in another.
pub(crate) fn aligned(rect: Rect, size: Size, across: super::model::Across, along: super::model::Along) -> Rect {
    use super::model::{Across, Along};
    let x = match across {
        Across::Left => rect.low.x,
        Across::Right => rect.high.x - size.width,
        Across::Center => (rect.low.x + rect.high.x - size.width) / 2.0,
    };
    let y = match along {
        Along::Top => rect.high.y - size.height,
        Along::Bottom => rect.low.y,
        Along::Middle => (rect.low.y + rect.high.y - size.height) / 2.0,
    };
    Rect::new(Point::new(x, y), Point::new(x + size.width, y + size.height))
}
