//! Graphviz's attributes: which there are, what they belong to, what they are without a value, and what becomes of them
//! here. After the table of attributes in Graphviz's documentation.
//!
//! What is read where stands beside the reader: the layout's in `plan`, those of shapes in `shapes`, those of paint in
//! `paint`. An attribute that is not in this table changes nothing, as with Graphviz.

use Effect::{Drawn, Elsewhere, Ignored};

/// What an attribute does to a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// What it does with Graphviz.
    Drawn,
    /// Nothing, nor with Graphviz's `dot` in SVG and PNG: it belongs to other engines or formats, names files, which
    /// no graph may read, or holds results.
    Elsewhere,
    /// Nothing, though Graphviz would heed it.
    Ignored,
}

/// One attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name; capitals matter.
    pub name: &'static str,
    /// What has it: `G` graphs, `S` subgraphs, `C` clusters, `N` nodes, `E` edges.
    pub used_by: &'static str,
    /// Its value where none is given; empty where there is none, or where it depends on other things.
    pub default: &'static str,
    /// What it does.
    pub effect: Effect,
}

const fn attribute(name: &'static str, used_by: &'static str, default: &'static str, effect: Effect) -> Attribute {
    Attribute { name, used_by, default, effect }
}

/// The attribute of this name.
pub fn attribute_named(name: &str) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.name == name)
}

/// All attributes, in the order of their names, without regard to capitals.
pub const ATTRIBUTES: &[Attribute] = &[
    attribute("_background", "G", "", Ignored),
    attribute("area", "CN", "1", Elsewhere),
    attribute("arrowhead", "E", "normal", Drawn),
    attribute("arrowsize", "E", "1", Drawn),
    attribute("arrowtail", "E", "normal", Drawn),
    attribute("bb", "G", "", Elsewhere),
    attribute("beautify", "G", "false", Elsewhere),
    attribute("bgcolor", "CG", "", Drawn),
    attribute("center", "G", "false", Elsewhere),
    attribute("charset", "G", "UTF-8", Drawn),
    attribute("class", "CEGN", "", Drawn),
    attribute("cluster", "CS", "false", Drawn),
    attribute("clusterrank", "G", "local", Drawn),
    attribute("color", "CEN", "black", Drawn),
    attribute("colorscheme", "CEGN", "", Drawn),
    attribute("comment", "EGN", "", Drawn),
    attribute("compound", "G", "false", Drawn),
    attribute("concentrate", "G", "false", Drawn),
    attribute("constraint", "E", "true", Drawn),
    attribute("Damping", "G", "0.99", Elsewhere),
    attribute("decorate", "E", "false", Drawn),
    attribute("defaultdist", "G", "", Elsewhere),
    attribute("dim", "G", "2", Elsewhere),
    attribute("dimen", "G", "2", Elsewhere),
    attribute("dir", "E", "forward", Drawn),
    attribute("diredgeconstraints", "G", "false", Elsewhere),
    attribute("distortion", "N", "0", Drawn),
    attribute("dpi", "G", "96", Drawn),
    attribute("edgehref", "E", "", Drawn),
    attribute("edgetarget", "E", "", Drawn),
    attribute("edgetooltip", "E", "", Drawn),
    attribute("edgeURL", "E", "", Drawn),
    attribute("epsilon", "G", "", Elsewhere),
    attribute("esep", "G", "+3", Elsewhere),
    attribute("fillcolor", "CEN", "lightgrey", Drawn),
    attribute("fixedsize", "N", "false", Drawn),
    attribute("fontcolor", "CEGN", "black", Drawn),
    attribute("fontname", "CEGN", "Times-Roman", Drawn),
    attribute("fontnames", "G", "", Drawn),
    attribute("fontpath", "G", "", Elsewhere),
    attribute("fontsize", "CEGN", "14", Drawn),
    attribute("forcelabels", "G", "true", Drawn),
    attribute("gradientangle", "CGN", "0", Drawn),
    attribute("group", "N", "", Drawn),
    attribute("head_lp", "E", "", Elsewhere),
    attribute("headclip", "E", "true", Drawn),
    attribute("headhref", "E", "", Drawn),
    attribute("headlabel", "E", "", Drawn),
    attribute("headport", "E", "center", Drawn),
    attribute("headtarget", "E", "", Drawn),
    attribute("headtooltip", "E", "", Drawn),
    attribute("headURL", "E", "", Drawn),
    attribute("height", "N", "0.5", Drawn),
    attribute("href", "CEGN", "", Drawn),
    attribute("id", "CEGN", "", Drawn),
    attribute("image", "N", "", Elsewhere),
    attribute("imagepath", "G", "", Elsewhere),
    attribute("imagepos", "N", "mc", Elsewhere),
    attribute("imagescale", "N", "false", Elsewhere),
    attribute("inputscale", "G", "", Elsewhere),
    attribute("K", "CG", "0.3", Elsewhere),
    attribute("label", "CEGN", "\\N", Drawn),
    attribute("label_scheme", "G", "0", Elsewhere),
    attribute("labelangle", "E", "-25", Drawn),
    attribute("labeldistance", "E", "1", Drawn),
    attribute("labelfloat", "E", "false", Drawn),
    attribute("labelfontcolor", "E", "black", Drawn),
    attribute("labelfontname", "E", "Times-Roman", Drawn),
    attribute("labelfontsize", "E", "14", Drawn),
    attribute("labelhref", "E", "", Drawn),
    attribute("labeljust", "CG", "c", Drawn),
    attribute("labelloc", "CGN", "", Drawn),
    attribute("labeltarget", "E", "", Drawn),
    attribute("labeltooltip", "E", "", Drawn),
    attribute("labelURL", "E", "", Drawn),
    attribute("landscape", "G", "false", Drawn),
    attribute("layer", "CEN", "", Ignored),
    attribute("layerlistsep", "G", ",", Ignored),
    attribute("layers", "G", "", Ignored),
    attribute("layerselect", "G", "", Ignored),
    attribute("layersep", "G", " :\t", Ignored),
    attribute("layout", "G", "dot", Elsewhere),
    attribute("len", "E", "1", Elsewhere),
    attribute("levels", "G", "", Elsewhere),
    attribute("levelsgap", "G", "0", Elsewhere),
    attribute("lhead", "E", "", Drawn),
    attribute("lheight", "CG", "", Elsewhere),
    attribute("linelength", "G", "128", Elsewhere),
    attribute("lp", "CEG", "", Elsewhere),
    attribute("ltail", "E", "", Drawn),
    attribute("lwidth", "CG", "", Elsewhere),
    attribute("margin", "CGN", "", Drawn),
    attribute("maxiter", "G", "", Elsewhere),
    attribute("mclimit", "G", "1", Drawn),
    attribute("mindist", "G", "1", Elsewhere),
    attribute("minlen", "E", "1", Drawn),
    attribute("mode", "G", "", Elsewhere),
    attribute("model", "G", "", Elsewhere),
    attribute("newrank", "G", "false", Drawn),
    attribute("nodesep", "G", "0.25", Drawn),
    attribute("nojustify", "CEGN", "false", Drawn),
    attribute("normalize", "G", "false", Elsewhere),
    attribute("notranslate", "G", "false", Elsewhere),
    attribute("nslimit", "G", "", Drawn),
    attribute("nslimit1", "G", "", Drawn),
    attribute("oneblock", "G", "false", Elsewhere),
    attribute("ordering", "GN", "", Drawn),
    attribute("orientation", "GN", "0", Drawn),
    attribute("outputorder", "G", "breadthfirst", Drawn),
    attribute("overlap", "G", "true", Elsewhere),
    attribute("overlap_scaling", "G", "-4", Elsewhere),
    attribute("overlap_shrink", "G", "true", Elsewhere),
    attribute("pack", "G", "false", Elsewhere),
    attribute("packmode", "G", "node", Elsewhere),
    attribute("pad", "G", "0.0555", Drawn),
    attribute("page", "G", "", Elsewhere),
    attribute("pagedir", "G", "BL", Elsewhere),
    attribute("pencolor", "C", "black", Drawn),
    attribute("penwidth", "CEN", "1", Drawn),
    attribute("peripheries", "CN", "1", Drawn),
    attribute("pin", "N", "false", Elsewhere),
    attribute("pos", "EN", "", Elsewhere),
    attribute("quadtree", "G", "normal", Elsewhere),
    attribute("quantum", "G", "0", Drawn),
    attribute("radius", "E", "0", Drawn),
    attribute("rank", "S", "", Drawn),
    attribute("rankdir", "G", "TB", Drawn),
    attribute("ranksep", "G", "0.5", Drawn),
    attribute("ratio", "G", "", Drawn),
    attribute("rects", "N", "", Elsewhere),
    attribute("regular", "N", "false", Drawn),
    attribute("remincross", "G", "true", Drawn),
    attribute("repulsiveforce", "G", "1", Elsewhere),
    attribute("resolution", "G", "96", Drawn),
    attribute("root", "GN", "", Elsewhere),
    attribute("rotate", "G", "0", Drawn),
    attribute("rotation", "G", "0", Elsewhere),
    attribute("samehead", "E", "", Drawn),
    attribute("sametail", "E", "", Drawn),
    attribute("samplepoints", "N", "8", Elsewhere),
    attribute("scale", "G", "", Elsewhere),
    attribute("searchsize", "G", "30", Drawn),
    attribute("sep", "G", "+4", Elsewhere),
    attribute("shape", "N", "ellipse", Drawn),
    attribute("shapefile", "N", "", Elsewhere),
    attribute("showboxes", "EGN", "0", Elsewhere),
    attribute("sides", "N", "4", Drawn),
    attribute("size", "G", "", Drawn),
    attribute("skew", "N", "0", Drawn),
    attribute("smoothing", "G", "none", Elsewhere),
    attribute("sortv", "CGN", "0", Elsewhere),
    attribute("splines", "G", "true", Drawn),
    attribute("start", "G", "", Elsewhere),
    attribute("style", "CEGN", "", Drawn),
    attribute("stylesheet", "G", "", Ignored),
    attribute("tail_lp", "E", "", Elsewhere),
    attribute("tailclip", "E", "true", Drawn),
    attribute("tailhref", "E", "", Drawn),
    attribute("taillabel", "E", "", Drawn),
    attribute("tailport", "E", "center", Drawn),
    attribute("tailtarget", "E", "", Drawn),
    attribute("tailtooltip", "E", "", Drawn),
    attribute("tailURL", "E", "", Drawn),
    attribute("target", "CEGN", "", Drawn),
    attribute("TBbalance", "G", "", Ignored),
    attribute("tooltip", "CEN", "", Drawn),
    attribute("truecolor", "G", "", Elsewhere),
    attribute("URL", "CEGN", "", Drawn),
    attribute("vertices", "N", "", Elsewhere),
    attribute("viewport", "G", "", Ignored),
    attribute("voro_margin", "G", "0.05", Elsewhere),
    attribute("weight", "E", "1", Drawn),
    attribute("width", "N", "0.75", Drawn),
    attribute("xdotversion", "G", "", Elsewhere),
    attribute("xlabel", "EN", "", Drawn),
    attribute("xlp", "EN", "", Elsewhere),
    attribute("z", "N", "0", Elsewhere),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_complete_in_itself() {
        let names: Vec<String> = ATTRIBUTES.iter().map(|attribute| attribute.name.to_lowercase()).collect();
        let mut sorted = names.clone();
        sorted.sort();
        assert_eq!(names, sorted);
        for attribute in ATTRIBUTES {
            assert!(!attribute.used_by.is_empty(), "{attribute:?}");
            assert!(attribute.used_by.chars().all(|kind| "CEGNS".contains(kind)), "{attribute:?}");
            assert_eq!(attribute_named(attribute.name), Some(attribute));
        }
        assert_eq!(attribute_named("Color"), None);
    }
}
