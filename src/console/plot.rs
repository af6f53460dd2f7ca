//! Plots: curves over time as paths of SVG, of at most 600 columns, each with the least and the most of what falls into it.
//! Floating point says where on the picture something is; what it is, is told as text beside it.

use std::fmt::Write as _;

use quintet_storage::Timestamp;

/// Columns of a plot.
const COLUMNS: i64 = 600;
/// How high it is, in the same units.
const HEIGHT: f64 = 160.0;
/// Room above and below a curve.
const MARGIN: f64 = 4.0;

/// How a curve gets from one value to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// The value stays until the next one.
    Step,
    /// A line.
    Line,
}

/// A curve as a picture has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curve {
    /// The path.
    pub path: String,
    /// Where zero is, if the curve goes across it.
    pub zero: Option<String>,
}

/// What falls into a column.
struct Column {
    x: i64,
    first: f64,
    least: f64,
    most: f64,
    last: f64,
}

/// The curve of values, the earliest first. Without a `range` it is as high as they are.
pub fn curve(points: &[(Timestamp, f64)], between: Between, range: Option<(f64, f64)>) -> Curve {
    let (Some((from, _)), Some((to, _))) = (points.first(), points.last()) else { return Curve::default() };
    let least = points.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
    let (least, most) = range.unwrap_or((least, most));
    let height = |value: f64| {
        let share = if most > least { (value - least) / (most - least) } else { 0.5 };
        format!("{:.1}", HEIGHT - MARGIN - share.clamp(0.0, 1.0) * (HEIGHT - 2.0 * MARGIN))
    };
    let mut path = String::new();
    for column in columns(points, from.as_micros(), to.as_micros()) {
        let x = column.x;
        // Writing to a string cannot fail.
        let _ = match (path.is_empty(), between) {
            (true, _) => write!(path, "M{x} {}", height(column.first)),
            (false, Between::Step) => write!(path, "H{x}V{}", height(column.first)),
            (false, Between::Line) => write!(path, "L{x} {}", height(column.first)),
        };
        if column.least < column.most {
            let _ = write!(path, "V{}V{}V{}", height(column.least), height(column.most), height(column.last));
        }
    }
    // One instant alone is a line as well.
    if from == to {
        let _ = write!(path, "H{COLUMNS}");
    }
    Curve { path, zero: (least < 0.0 && most > 0.0).then(|| height(0.0)) }
}

/// The columns that something falls into.
fn columns(points: &[(Timestamp, f64)], from: i64, to: i64) -> Vec<Column> {
    let span = i128::from(to.saturating_sub(from)).max(1);
    let mut columns: Vec<Column> = Vec::new();
    for (at, value) in points {
        let place = i128::from(at.as_micros().saturating_sub(from)) * i128::from(COLUMNS - 1) / span;
        let x = i64::try_from(place).unwrap_or_default().clamp(0, COLUMNS - 1);
        match columns.last_mut().filter(|column| column.x == x) {
            Some(column) => {
                column.least = column.least.min(*value);
                column.most = column.most.max(*value);
                column.last = *value;
            }
            None => columns.push(Column { x, first: *value, least: *value, most: *value, last: *value }),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_curve_goes_from_edge_to_edge() {
        let points = [(at(0), -1.0), (at(500), 1.0), (at(1_000), 0.0)];
        let drawn = curve(&points, Between::Step, None);
        assert_eq!(drawn.path, "M0 156.0H299V4.0H599V80.0");
        assert_eq!(drawn.zero.as_deref(), Some("80.0"));
        assert_eq!(curve(&points, Between::Line, None).path, "M0 156.0L299 4.0L599 80.0");
        assert_eq!(curve(&points[..1], Between::Line, None).path, "M0 80.0H600");
        assert_eq!(curve(&[], Between::Line, None), Curve::default());
        assert_eq!(curve(&[(at(0), 7.0)], Between::Line, Some((0.0, 1.0))).path, "M0 4.0H600", "no higher than it is");
    }

    #[test]
    fn many_values_are_few_columns_that_lose_no_extreme() {
        let points: Vec<_> = (0..100_000).map(|n| (at(n), if n == 77_777 { 9.0 } else { (n % 3) as f64 })).collect();
        let drawn = curve(&points, Between::Line, None);
        assert!(drawn.path.len() < 600 * 40, "{}", drawn.path.len());
        assert!(drawn.path.contains("V4.0"), "the one that stands out is there");
    }
}
