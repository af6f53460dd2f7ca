//! The names of shapes, and what each is made of.

use crate::graph::values::Attributes;
use crate::warnings::Warnings;

/// How a shape is sized and painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Corners on a circle, or the circle itself.
    Polygon,
    /// A five-pointed star.
    Star,
    /// A drum.
    Cylinder,
    /// A dot without a label.
    Point,
    /// Boxes in boxes.
    Record,
}

/// What is painted on top of the outline, or in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ornament {
    /// Nothing more.
    None,
    /// `Mdiamond`, `Msquare`, `Mcircle`: lines across the corners.
    Diagonals,
    /// `underline`: a line below, no outline.
    Underline,
    /// `note`: a folded corner.
    Note,
    /// `tab`.
    Tab,
    /// `folder`.
    Folder,
    /// `box3d`.
    Box3d,
    /// `component`.
    Component,
    /// `Mrecord`: rounded corners.
    Rounded,
    /// The shapes of the synthetic biology standard.
    Biology,
}

/// A shape by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// The name.
    pub name: &'static str,
    /// How it is sized.
    pub family: Family,
    /// Corners; fewer than 3: an ellipse.
    pub sides: usize,
    /// Outlines.
    pub peripheries: usize,
    /// Width and height are the same.
    pub regular: bool,
    /// Turned to the left, in degrees.
    pub orientation: f64,
    /// Wider above (positive) or below.
    pub distortion: f64,
    /// Leaning to the right.
    pub skew: f64,
    /// What more is painted.
    pub ornament: Ornament,
}

const fn plain(name: &'static str, sides: usize) -> Kind {
    Kind {
        name,
        family: Family::Polygon,
        sides,
        peripheries: 1,
        regular: false,
        orientation: 0.0,
        distortion: 0.0,
        skew: 0.0,
        ornament: Ornament::None,
    }
}

const fn ornamented(name: &'static str, ornament: Ornament) -> Kind {
    Kind { ornament, ..plain(name, 4) }
}

/// All shapes, by name.
#[rustfmt::skip]
const KINDS: [Kind; 62] = [
    Kind { regular: true, ornament: Ornament::Diagonals, ..plain("Mcircle", 1) },
    Kind { orientation: 45.0, ornament: Ornament::Diagonals, ..plain("Mdiamond", 4) },
    Kind { family: Family::Record, ..ornamented("Mrecord", Ornament::Rounded) },
    Kind { regular: true, ..ornamented("Msquare", Ornament::Diagonals) },
    ornamented("assembly", Ornament::Biology),
    plain("box", 4),
    ornamented("box3d", Ornament::Box3d),
    ornamented("cds", Ornament::Biology),
    Kind { regular: true, ..plain("circle", 1) },
    ornamented("component", Ornament::Component),
    plain("custom", 4),
    Kind { family: Family::Cylinder, ..plain("cylinder", 19) },
    Kind { orientation: 45.0, ..plain("diamond", 4) },
    Kind { regular: true, peripheries: 2, ..plain("doublecircle", 1) },
    Kind { peripheries: 2, ..plain("doubleoctagon", 8) },
    Kind { distortion: -0.3, ..plain("egg", 120) },
    plain("ellipse", 1),
    ornamented("fivepoverhang", Ornament::Biology),
    ornamented("folder", Ornament::Folder),
    plain("hexagon", 6),
    Kind { distortion: -0.64, ..plain("house", 5) },
    ornamented("insulator", Ornament::Biology),
    Kind { orientation: 180.0, distortion: -0.64, ..plain("invhouse", 5) },
    Kind { orientation: 180.0, distortion: -0.4, ..plain("invtrapezium", 4) },
    Kind { orientation: 180.0, ..plain("invtriangle", 3) },
    ornamented("larrow", Ornament::Biology),
    ornamented("lpromoter", Ornament::Biology),
    Kind { peripheries: 0, ..plain("none", 4) },
    ornamented("note", Ornament::Note),
    ornamented("noverhang", Ornament::Biology),
    plain("octagon", 8),
    plain("oval", 1),
    Kind { skew: 0.6, ..plain("parallelogram", 4) },
    plain("pentagon", 5),
    Kind { peripheries: 0, ..plain("plain", 4) },
    Kind { peripheries: 0, ..plain("plaintext", 4) },
    Kind { family: Family::Point, regular: true, ..plain("point", 1) },
    plain("polygon", 4),
    ornamented("primersite", Ornament::Biology),
    ornamented("promoter", Ornament::Biology),
    ornamented("proteasesite", Ornament::Biology),
    ornamented("proteinstab", Ornament::Biology),
    ornamented("rarrow", Ornament::Biology),
    Kind { family: Family::Record, ..plain("record", 4) },
    plain("rect", 4),
    plain("rectangle", 4),
    ornamented("restrictionsite", Ornament::Biology),
    ornamented("ribosite", Ornament::Biology),
    ornamented("rnastab", Ornament::Biology),
    ornamented("rpromoter", Ornament::Biology),
    plain("septagon", 7),
    ornamented("signature", Ornament::Biology),
    Kind { regular: true, ..plain("square", 4) },
    Kind { family: Family::Star, ..plain("star", 10) },
    ornamented("tab", Ornament::Tab),
    ornamented("terminator", Ornament::Biology),
    ornamented("threepoverhang", Ornament::Biology),
    Kind { distortion: -0.4, ..plain("trapezium", 4) },
    plain("triangle", 3),
    Kind { peripheries: 3, ..plain("tripleoctagon", 8) },
    ornamented("underline", Ornament::Underline),
    ornamented("utr", Ornament::Biology),
];

/// The shape that `shape` names; an unknown one is a box, with a warning.
pub fn kind_of(attributes: &dyn Attributes, warnings: &mut Warnings) -> Kind {
    let name = attributes.text("shape").unwrap_or("ellipse");
    match KINDS.iter().find(|kind| kind.name == name) {
        Some(kind) => *kind,
        None if name == "epsf" => plain("box", 4),
        None => {
            warnings.push(format!("using box for unknown shape {name}"));
            plain("box", 4)
        }
    }
}
