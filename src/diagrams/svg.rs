//! The scene as SVG, element by element as Graphviz writes it.

use std::fmt::Write;

use crate::geometry::Point;
use crate::limits::TooMuch;
use crate::scene::{Anchor, Color, Dash, Fill, Gradient, Group, Item, Link, Scene, Stroke, Text};
use crate::text::{Font, is_entity_start};

/// Points in an inch.
const POINTS_PER_INCH: f64 = 72.0;

/// The families, weights and styles of PostScript's fonts.
#[rustfmt::skip]
const FONTS: [(&str, &str, &str, &str, &str); 35] = [
    ("AvantGarde-Book", "URW Gothic L,sans-Serif", "book", "", ""),
    ("AvantGarde-BookOblique", "URW Gothic L,sans-Serif", "book", "", "oblique"),
    ("AvantGarde-Demi", "URW Gothic L,sans-Serif", "demi", "", ""),
    ("AvantGarde-DemiOblique", "URW Gothic L,sans-Serif", "demi", "", "oblique"),
    ("Bookman-Demi", "URW Bookman L,serif", "demi", "", ""),
    ("Bookman-DemiItalic", "URW Bookman L,serif", "demi", "", "italic"),
    ("Bookman-Light", "URW Bookman L,serif", "light", "", ""),
    ("Bookman-LightItalic", "URW Bookman L,serif", "light", "", "italic"),
    ("Courier", "Courier,monospace", "", "", ""),
    ("Courier-Bold", "Courier,monospace", "bold", "", ""),
    ("Courier-BoldOblique", "Courier,monospace", "bold", "", "oblique"),
    ("Courier-Oblique", "Courier,monospace", "", "", "oblique"),
    ("Helvetica", "Helvetica,sans-Serif", "", "", ""),
    ("Helvetica-Bold", "Helvetica,sans-Serif", "bold", "", ""),
    ("Helvetica-BoldOblique", "Helvetica,sans-Serif", "bold", "", "oblique"),
    ("Helvetica-Narrow", "Helvetica,sans-Serif", "", "condensed", ""),
    ("Helvetica-Narrow-Bold", "Helvetica,sans-Serif", "bold", "condensed", ""),
    ("Helvetica-Narrow-BoldOblique", "Helvetica,sans-Serif", "bold", "condensed", "oblique"),
    ("Helvetica-Narrow-Oblique", "Helvetica,sans-Serif", "", "condensed", "oblique"),
    ("Helvetica-Oblique", "Helvetica,sans-Serif", "", "", "oblique"),
    ("NewCenturySchlbk-Bold", "Century Schoolbook L,serif", "bold", "", ""),
    ("NewCenturySchlbk-BoldItalic", "Century Schoolbook L,serif", "bold", "", "italic"),
    ("NewCenturySchlbk-Italic", "Century Schoolbook L,serif", "", "", "italic"),
    ("NewCenturySchlbk-Roman", "Century Schoolbook L,serif", "roman", "", ""),
    ("Palatino-Bold", "Palatino Linotype,serif", "bold", "", ""),
    ("Palatino-BoldItalic", "Palatino Linotype,serif", "bold", "", "italic"),
    ("Palatino-Italic", "Palatino Linotype,serif", "", "", "italic"),
    ("Palatino-Roman", "Palatino Linotype,serif", "roman", "", ""),
    ("Symbol", "Symbol,fantasy", "", "", ""),
    ("Times-Bold", "Times,serif", "bold", "", ""),
    ("Times-BoldItalic", "Times,serif", "bold", "", "italic"),
    ("Times-Italic", "Times,serif", "", "", "italic"),
    ("Times-Roman", "Times,serif", "", "", ""),
    ("ZapfChancery-MediumItalic", "URW Chancery L,serif", "medium", "", "italic"),
    ("ZapfDingbats", "Dingbats,fantasy", "", "", ""),
];

/// Writes a scene as SVG of at most `most_bytes`.
///
/// # Errors
/// When it would be longer than that.
pub fn write(scene: &Scene, most_bytes: usize) -> Result<String, TooMuch> {
    let mut writer = Writer { out: String::with_capacity(4096), gradients: [0; 2], most_bytes, scope: String::new() };
    writer.scene(scene);
    if writer.out.len() > most_bytes { Err(TooMuch::OutputBytes(most_bytes)) } else { Ok(writer.out) }
}

/// The size of the finished picture in points, and the scale that the drawing has in it.
pub fn canvas(scene: &Scene, dots_per_inch: f64) -> (f64, f64, f64) {
    let scale = scene.zoom * dots_per_inch / POINTS_PER_INCH;
    let width = (scene.bounds.width() + 2.0 * scene.pad.x) * scale;
    let height = (scene.bounds.height() + 2.0 * scene.pad.y) * scale;
    let (width, height) = if scene.is_rotated { (height, width) } else { (width, height) };
    (width.round(), height.round(), scale)
}

struct Writer {
    out: String,
    /// Linear and radial gradients written so far; they count through the document.
    gradients: [usize; 2],
    most_bytes: usize,
    /// The id of the element that gradients are named after.
    scope: String,
}

/// A length with at most two decimals, and no more than it needs.
pub(crate) fn number(value: f64) -> String {
    let mut text = format!("{value:.2}");
    if text.contains('.') {
        let end = text.trim_end_matches('0').trim_end_matches('.').len();
        text.truncate(end);
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// A number with at most six significant digits.
fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// What [`escape`] leaves alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// Nothing.
    Nothing,
    /// Entities that stand in the text already.
    Entities,
}

/// Text as XML holds it, in elements and in attributes; what XML cannot hold is left out.
fn escape(out: &mut String, text: &str, keep: Keep, hyphens: bool) {
    let mut before = '\0';
    for (at, c) in text.char_indices() {
        match c {
            '&' if keep == Keep::Entities && text.get(at..).is_some_and(is_entity_start) => out.push('&'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '-' if hyphens => out.push_str("&#45;"),
            ' ' if before == ' ' => out.push_str("&#160;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push('\t'),
            '\0'..=' ' if c != ' ' => {}
            '\u{fffe}' | '\u{ffff}' => {}
            _ => out.push(c),
        }
        before = c;
    }
}

impl Writer {
    fn push(&mut self, text: &str) {
        // Once it is too long, it only has to be noticed.
        if self.out.len() <= self.most_bytes {
            self.out.push_str(text);
        }
    }

    fn escaped(&mut self, text: &str, keep: Keep) {
        if self.out.len() <= self.most_bytes {
            escape(&mut self.out, text, keep, true);
        }
    }

    fn attribute(&mut self, name: &str, value: &str, hyphens: bool) {
        if self.out.len() <= self.most_bytes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            escape(&mut self.out, value, Keep::Entities, hyphens);
            self.out.push('"');
        }
    }

    fn scene(&mut self, scene: &Scene) {
        let (width, height, scale) = canvas(scene, scene.dots_per_inch.unwrap_or(POINTS_PER_INCH));
        self.push(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n\
             <!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\"\n \
             \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n<!-- Generated by quintet -->\n<!--",
        );
        if let Some(title) = &scene.title {
            self.push(" Title: ");
            self.escaped(title, Keep::Entities);
        }
        self.push(" Pages: 1 -->\n");
        let size = format!(
            "<svg width=\"{width:.0}pt\" height=\"{height:.0}pt\"\n viewBox=\"0.00 0.00 {width:.2} {height:.2}\" \
             xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n"
        );
        self.push(&size);
        self.push("<g");
        self.attribute("id", &scene.id, false);
        self.class("graph", scene.class.as_deref());
        let (low, high, pad) = (scene.bounds.low, scene.bounds.high, scene.pad);
        let (angle, shift) = match scene.is_rotated {
            false => ("0", Point::new(pad.x - low.x, high.y + pad.y)),
            true => ("-90", Point::new(-(high.x + pad.x), high.y + pad.y)),
        };
        let scale = general(scale);
        let transform = format!(
            " transform=\"scale({scale} {scale}) rotate({angle}) translate({} {})\">\n",
            number(shift.x),
            number(shift.y)
        );
        self.push(&transform);
        if let Some(title) = &scene.title {
            self.title(title);
        }
        self.scope.clone_from(&scene.id);
        match &scene.link {
            Some(link) => self.linked(&format!("a_{}", scene.id), link, &scene.items),
            None => self.items(&scene.items),
        }
        for group in &scene.groups {
            self.group(group);
        }
        self.push("</g>\n</svg>\n");
    }

    fn class(&mut self, own: &str, more: Option<&str>) {
        match more {
            Some(more) => self.attribute("class", &format!("{own} {more}"), false),
            None => self.attribute("class", own, false),
        }
    }

    fn title(&mut self, title: &str) {
        self.push("<title>");
        self.escaped(title, Keep::Entities);
        self.push("</title>\n");
    }

    fn comment(&mut self, text: &str) {
        self.push("<!-- ");
        self.escaped(text, Keep::Entities);
        self.push(" -->\n");
    }

    fn group(&mut self, group: &Group) {
        if group.kind.class() != "cluster" {
            self.comment(&group.name);
            if let Some(comment) = &group.comment {
                self.comment(comment);
            }
        }
        if group.is_hidden {
            return;
        }
        self.push("<g");
        self.attribute("id", &group.id, false);
        self.class(group.kind.class(), group.class.as_deref());
        self.push(">\n");
        self.title(&group.title);
        self.scope.clone_from(&group.id);
        self.items(&group.items);
        self.push("</g>\n");
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            if self.out.len() > self.most_bytes {
                return;
            }
            self.item(item);
        }
    }

    fn linked(&mut self, id: &str, link: &Link, items: &[Item]) {
        self.push("<g");
        self.attribute("id", id, true);
        self.push("><a");
        if let Some(href) = &link.href {
            self.attribute("xlink:href", href, false);
        }
        if let Some(title) = &link.title {
            self.attribute("xlink:title", title, true);
        }
        if let Some(target) = &link.target {
            self.attribute("target", target, false);
        }
        self.push(">\n");
        self.items(items);
        self.push("</a>\n</g>\n");
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Polygon { points, fill, stroke } => {
                let fill = self.defined(fill);
                self.push("<polygon");
                self.paint(&fill, stroke);
                self.points(points, true);
                self.push("/>\n");
            }
            Item::Polyline { points, stroke } => {
                self.push("<polyline");
                self.paint(&Defined::None, stroke);
                self.points(points, false);
                self.push("/>\n");
            }
            Item::Path { points, fill, stroke } => {
                let fill = self.defined(fill);
                self.push("<path");
                self.paint(&fill, stroke);
                let mut d = String::from(" d=\"");
                for (i, point) in points.iter().enumerate() {
                    d.push_str(match i {
                        0 => "M",
                        1 => "C",
                        _ => " ",
                    });
                    let _ = write!(d, "{},{}", number(point.x), number(-point.y));
                }
                d.push_str("\"/>\n");
                self.push(&d);
            }
            Item::Ellipse { center, radii, fill, stroke } => {
                let fill = self.defined(fill);
                self.push("<ellipse");
                self.paint(&fill, stroke);
                let place = format!(
                    " cx=\"{}\" cy=\"{}\" rx=\"{}\" ry=\"{}\"/>\n",
                    number(center.x),
                    number(-center.y),
                    number(radii.x),
                    number(radii.y)
                );
                self.push(&place);
            }
            Item::Text(text) => self.text(text),
            Item::Linked { id, link, items } => self.linked(id, link, items),
        }
    }

    fn points(&mut self, points: &[Point], is_closed: bool) {
        let mut text = String::from(" points=\"");
        let first = points.first().filter(|_| is_closed);
        for (i, point) in points.iter().chain(first).enumerate() {
            if i > 0 {
                text.push(' ');
            }
            let _ = write!(text, "{},{}", number(point.x), number(-point.y));
        }
        text.push('"');
        self.push(&text);
    }

    /// Writes the gradient of a filling, if it is one, and gives what its shape says.
    fn defined(&mut self, fill: &Fill) -> Defined {
        match fill {
            Fill::None => Defined::None,
            Fill::Solid(color) => Defined::Color(color.clone()),
            Fill::Gradient(gradient) => {
                let [linear, radial] = &mut self.gradients;
                let (kind, count) = if gradient.is_radial { ('r', radial) } else { ('l', linear) };
                let id = format!("{}_{kind}_{count}", self.scope);
                *count += 1;
                self.gradient(gradient, &id);
                Defined::Gradient(id)
            }
        }
    }

    fn gradient(&mut self, gradient: &Gradient, id: &str) {
        let angle = gradient.angle.to_radians();
        let element = if gradient.is_radial { "radialGradient" } else { "linearGradient" };
        self.push("<defs>\n<");
        self.push(element);
        self.attribute("id", id, false);
        if gradient.is_radial {
            let (x, y) = match gradient.angle == 0.0 {
                true => (50.0, 50.0),
                false => ((50.0 * (1.0 + angle.cos())).round(), (50.0 * (1.0 - angle.sin())).round()),
            };
            self.push(&format!(" cx=\"50%\" cy=\"50%\" r=\"75%\" fx=\"{x:.0}%\" fy=\"{y:.0}%\">\n"));
        } else {
            let (from, to) = gradient_line(gradient);
            let line = format!(
                " gradientUnits=\"userSpaceOnUse\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" >\n",
                number(from.x),
                number(-from.y),
                number(to.x),
                number(-to.y)
            );
            self.push(&line);
        }
        let [first, second] = &gradient.colors;
        let offsets = match gradient.share.filter(|_| !gradient.is_radial) {
            Some(share) => [format!("{:.3}", share - 0.001), format!("{share:.3}")],
            None => ["0".to_owned(), "1".to_owned()],
        };
        for (offset, color) in offsets.iter().zip([first, second]) {
            self.push(&format!("<stop offset=\"{offset}\" style=\"stop-color:"));
            let name = color_text(color);
            self.push(&name);
            let alpha = color.rgba[3];
            match alpha {
                255 => self.push(";stop-opacity:1.;\"/>\n"),
                _ => self.push(&format!(";stop-opacity:{:.6};\"/>\n", f64::from(alpha) / 255.0)),
            }
        }
        self.push("</");
        self.push(element);
        self.push(">\n</defs>\n");
    }

    fn paint(&mut self, fill: &Defined, stroke: &Stroke) {
        match fill {
            Defined::None => self.push(" fill=\"none\""),
            Defined::Color(color) => self.color("fill", color),
            Defined::Gradient(id) => self.attribute("fill", &format!("url(#{id})"), false),
        }
        match &stroke.color {
            None => self.push(" stroke=\"none\""),
            Some(color) => self.color("stroke", color),
        }
        if let Some(width) = stroke.width {
            self.push(&format!(" stroke-width=\"{}\"", general(width)));
        }
        match stroke.dash {
            Dash::Solid => {}
            Dash::Dashed => self.push(" stroke-dasharray=\"5,2\""),
            Dash::Dotted => self.push(" stroke-dasharray=\"1,5\""),
        }
    }

    fn color(&mut self, attribute: &str, color: &Color) {
        self.attribute(attribute, &color_text(color), false);
        let alpha = color.rgba[3];
        if alpha < 255 {
            self.push(&format!(" {attribute}-opacity=\"{:.6}\"", f64::from(alpha) / 255.0));
        }
    }

    fn text(&mut self, text: &Text) {
        let anchor = match text.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let place = format!(
            "<text xml:space=\"preserve\" text-anchor=\"{anchor}\" x=\"{}\" y=\"{}\"",
            number(text.at.x),
            number(-text.at.y)
        );
        self.push(&place);
        self.font(&text.font);
        if text.color.rgba != [0, 0, 0, 255] || text.color.name.is_none() {
            self.color("fill", &text.color);
        }
        self.push(">");
        self.escaped(&text.text, Keep::Nothing);
        self.push("</text>\n");
    }

    fn font(&mut self, font: &Font) {
        let known = FONTS.iter().find(|known| known.0.eq_ignore_ascii_case(&font.name));
        let (family, weight, stretch, slope) = match known {
            Some((_, family, weight, stretch, slope)) => (*family, *weight, *stretch, *slope),
            None if font.name.is_empty() => ("Times,serif", "", "", ""),
            None => (&*font.name, "", "", ""),
        };
        self.attribute("font-family", family, false);
        let style = font.style;
        let weight = if style.bold && weight.is_empty() { "bold" } else { weight };
        let slope = if style.italic && slope.is_empty() { "italic" } else { slope };
        for (name, value) in [("font-weight", weight), ("font-stretch", stretch), ("font-style", slope)] {
            if !value.is_empty() {
                self.attribute(name, value, false);
            }
        }
        let lines = [(style.underline, "underline"), (style.overline, "overline"), (style.strike, "line-through")];
        let lines: Vec<&str> = lines.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
        if !lines.is_empty() {
            self.attribute("text-decoration", &lines.join(","), false);
        }
        if style.superscript {
            self.push(" baseline-shift=\"super\"");
        } else if style.subscript {
            self.push(" baseline-shift=\"sub\"");
        }
        self.push(&format!(" font-size=\"{:.2}\"", font.size));
    }
}

/// A filling whose gradient, if any, is written.
enum Defined {
    None,
    Color(Color),
    Gradient(String),
}

/// The ends of the line along which a gradient changes.
pub(crate) fn gradient_line(gradient: &Gradient) -> (Point, Point) {
    let center = gradient.bounds.center();
    let angle = gradient.angle.to_radians();
    let reach = Point::new(gradient.bounds.width() / 2.0 * angle.cos(), gradient.bounds.height() / 2.0 * angle.sin());
    (center - reach, center + reach)
}

fn color_text(color: &Color) -> String {
    match &color.name {
        Some(name) => name.clone(),
        None => {
            let [r, g, b, _] = color.rgba;
            format!("#{r:02x}{g:02x}{b:02x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, expected) in [(1.0, "1"), (-0.001, "0"), (1.005, "1"), (-2.5, "-2.5"), (12.346, "12.35")] {
            assert_eq!(number(value), expected);
        }
        for (value, expected) in [(0.2244389, "0.224439"), (11.61290, "11.6129"), (2.0, "2"), (0.5, "0.5")] {
            assert_eq!(general(value), expected);
        }
    }

    #[test]
    fn text_cannot_leave_its_element() {
        let mut out = String::new();
        escape(&mut out, "</text><script>\"'&amp;&\u{1}\u{0}--  x", Keep::Nothing, true);
        assert_eq!(out, "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;amp;&amp;&#45;&#45; &#160;x");
        out.clear();
        escape(&mut out, "&amp;&#60;&bogus;&lt &&#1;", Keep::Entities, true);
        assert_eq!(out, "&amp;&#60;&amp;bogus;&amp;lt &amp;&amp;#1;");
    }
}
