//! Whole graphs through the painter, where the comparison with Graphviz may not be installed.

use std::collections::BTreeMap;

use super::paint;
use crate::dot::parse;
use crate::layout::layout;
use crate::limits::Limits;
use crate::plan::Plan;
use crate::svg;
use crate::work::{Exhausted, Work};

fn painted(source: &str, work: &mut Work) -> Result<String, Exhausted> {
    let limits = Limits::default();
    let graph = parse(source.as_bytes(), &limits).unwrap().graph;
    let plan = Plan::new(&graph, &limits, &mut Work::default()).unwrap();
    let output = layout(&plan.input, &mut Work::default()).unwrap();
    let (scene, _) = paint(&graph, &plan, &output, work)?;
    Ok(svg::write(&scene, 1 << 20).unwrap())
}

fn svg_of(source: &str) -> String {
    painted(source, &mut Work::default()).unwrap()
}

#[test]
fn a_node_is_written_as_graphviz_writes_it() {
    let svg = svg_of("digraph \"G x\" { a [label=\"x<y\", style=\"filled,dashed\", fillcolor=red, class=k] }");
    let expected = "<g id=\"graph0\" class=\"graph\" transform=\"scale(1 1) rotate(0) translate(4 40)\">\n\
        <title>G x</title>\n\
        <polygon fill=\"white\" stroke=\"none\" points=\"-4,4 -4,-40 58,-40 58,4 -4,4\"/>\n\
        <!-- a -->\n\
        <g id=\"node1\" class=\"node k\">\n\
        <title>a</title>\n\
        <ellipse fill=\"red\" stroke=\"black\" stroke-dasharray=\"5,2\" cx=\"27\" cy=\"-18\" rx=\"27\" ry=\"18\"/>\n\
        <text xml:space=\"preserve\" text-anchor=\"middle\" x=\"27\" y=\"-13.8\" font-family=\"Times,serif\" \
        font-size=\"14.00\">x&lt;y</text>\n\
        </g>\n\
        </g>\n\
        </svg>\n";
    assert!(svg.ends_with(expected), "{svg}");
    assert!(svg.contains("<svg width=\"62pt\" height=\"44pt\"\n viewBox=\"0.00 0.00 62.00 44.00\""), "{svg}");
}

#[test]
fn no_link_leads_anywhere_unsafe() {
    let svg = svg_of(
        "digraph { URL=\"javascript:1\" a [URL=\"javascript:2\" tooltip=t] b [href=\"data:3\"] \
         c [shape=none label=<<table href=\"javascript:4\"><tr><td href=\"vbscript:5\" title=\"x\">c</td></tr></table>>] \
         a -> b [URL=\"java\\nscript:6\" headlabel=h headURL=\"javascript:7\"] d [URL=\"https://ok/\"] e [URL=\"ok.html\"] }",
    );
    assert!(!svg.contains("script:") && !svg.contains("data:"), "{svg}");
    assert!(svg.contains("xlink:href=\"https://ok/\"") && svg.contains("xlink:href=\"ok.html\""));
    assert!(svg.contains("xlink:title=\"t\""));
}

#[test]
fn invisible_things_leave_no_trace_but_a_comment() {
    let svg = svg_of("digraph { a [style=invis URL=x] a -> b [style=invis] subgraph cluster_c { style=invis c } }");
    assert!(svg.contains("<!-- a -->\n<!-- b -->"), "{svg}");
    assert!(!svg.contains("<title>a</title>") && !svg.contains("<path"), "{svg}");
    assert!(svg.contains("<title>cluster_c</title>\n</g>"), "{svg}");
}

#[test]
fn output_order_is_as_asked() {
    let at = |svg: &str, text: &str| svg.find(text).unwrap();
    let edges = svg_of("digraph { outputorder=edgesfirst a -> b }");
    assert!(at(&edges, "class=\"edge\"") < at(&edges, "class=\"node\""));
    let plain = svg_of("digraph { a -> b; c }");
    assert!(at(&plain, "<title>b<") < at(&plain, "class=\"edge\""));
    assert!(at(&plain, "class=\"edge\"") < at(&plain, "<title>c<"));
}

#[test]
fn painting_ends_when_the_work_is_spent() {
    let source = "digraph { a -> b -> c }";
    assert_eq!(painted(source, &mut Work::new(100, None)), Err(Exhausted::Steps));
}

#[test]
fn size_dpi_and_rotation_are_obeyed() {
    assert!(svg_of("digraph { dpi=144 a }").contains("<svg width=\"124pt\" height=\"88pt\""));
    assert!(svg_of("digraph { size=\"5,5!\" a }").contains("scale(5.80645 5.80645)"));
    let turned = svg_of("digraph { rotate=90 a -> b }");
    assert!(
        turned.contains("<svg width=\"116pt\" height=\"62pt\"") && turned.contains("rotate(-90) translate(-58 112)")
    );
    assert!(!svg_of("digraph { bgcolor=transparent a }").contains("<polygon"));
}

/// The texts of a picture and where they stand: across, and down.
fn texts(svg: &str) -> BTreeMap<&str, (f64, f64)> {
    let number = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    svg.split("<text ")
        .skip(1)
        .map(|text| {
            let (head, rest) = text.split_once('>').unwrap();
            (rest.split('<').next().unwrap(), (number(&format!(" {head}"), "x"), number(&format!(" {head}"), "y")))
        })
        .collect()
}

/// What stands on each rank, from its beginning, as Graphviz 16.1 has it.
#[test]
fn clusters_stand_where_graphviz_has_them() {
    for (body, expected) in [
        ("a->b; a->c; subgraph cluster_0{a b}", "a/b c"),
        ("a->c; a->b; subgraph cluster_0{a b}", "a/b c"),
        ("a->b; a->c; a->d; subgraph cluster_0{a b}", "a/b c d"),
        ("a->c; a->b; subgraph cluster_0{b}", "a/b c"),
        ("a->b; a->c; subgraph cluster_0{b}", "a/b c"),
        ("subgraph cluster_0{p->c->r} s->p; c->e; r->o", "s/p/c/r e/o"),
        ("s->x->y->z; s->a->b->c; subgraph cluster_0{a b c}", "s/a x/b y/c z"),
        ("subgraph cluster_0{a->b; a->c} b->d; c->e; a->f; f->g", "a/b c f/d e g"),
        ("subgraph cluster_0{a->b->c} b->x; b->y; c->z", "a/b/c x y/z"),
        ("a->b; x->b; subgraph cluster_0{a b}", "a x/b"),
        ("x->b; a->b; subgraph cluster_0{a b}", "x a/b"),
        // Parts that nothing connects, as they are declared.
        ("subgraph cluster_0{a->b} c->d", "a c/b d"),
        ("c->d; subgraph cluster_0{a->b}", "c a/d b"),
        ("x; subgraph cluster_0{a->b} y; subgraph cluster_1{e->f} g", "x a y e g/b f"),
    ] {
        let svg = svg_of(&format!("digraph {{ {body} }}"));
        let mut ranks: BTreeMap<i64, Vec<(i64, &str)>> = BTreeMap::new();
        for (name, (x, y)) in texts(&svg) {
            ranks.entry(y as i64).or_default().push((x as i64, name));
        }
        let ranks: Vec<String> = ranks
            .into_values()
            .map(|mut rank| {
                rank.sort_unstable();
                rank.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(ranks.join("/"), expected, "{body}");
    }
}

#[test]
fn html_like_text_says_names_and_links_have_ids_of_their_own() {
    let svg = svg_of(
        "digraph { \"n<b>\" [label=<\\N in \\G>] b [shape=record label=<<TABLE HREF=\"u\\N\" TITLE=\"\\N\">\
         <TR><TD>x</TD></TR></TABLE>|<TABLE HREF=\"v\"><TR><TD ID=\"i\\N\" HREF=\"w\">y</TD></TR></TABLE>>] }",
    );
    for part in [
        ">n&lt;b&gt; in %1</text>",
        "<g id=\"a_node2_0\"><a xlink:href=\"ub\" xlink:title=\"b\">",
        "<g id=\"a_node2_1\"><a xlink:href=\"v\"",
        "<g id=\"a_ib\"><a xlink:href=\"w\"",
    ] {
        assert!(svg.contains(part), "{part} is missing: {svg}");
    }
}

#[test]
fn a_margin_is_left_on_every_side() {
    for (attributes, size, transform) in [
        ("margin=1", "width=\"206pt\" height=\"260pt\"", "scale(1 1) rotate(0) translate(76 184)"),
        ("margin=\"0.5,1\"", "width=\"134pt\" height=\"260pt\"", "scale(1 1) rotate(0) translate(40 184)"),
        ("margin=1 pad=0.5", "width=\"270pt\" height=\"324pt\"", "scale(1 1) rotate(0) translate(108 216)"),
        (
            "margin=1 size=\"1,1\"",
            "width=\"182pt\" height=\"216pt\"",
            "scale(0.62069 0.62069) rotate(0) translate(120 228)",
        ),
        ("margin=-1", "width=\"62pt\" height=\"116pt\"", "scale(1 1) rotate(0) translate(4 112)"),
        ("margin=1 rotate=90", "width=\"260pt\" height=\"206pt\"", "scale(1 1) rotate(-90) translate(-130 184)"),
    ] {
        let svg = svg_of(&format!("digraph {{ {attributes} a -> b }}"));
        assert!(svg.contains(size) && svg.contains(transform), "{attributes}: {svg:.700}");
        assert!(svg.contains("viewBox=\"0.00 0.00 "), "{attributes}: {svg:.700}");
    }
}

/// Each was read off a drawing of Graphviz 16.1.
#[test]
fn links_are_titled_with_labels() {
    for (source, expected) in [
        ("URL=gu label=<G<B>x</B>>", "xlink:href=\"gu\" xlink:title=\"G&lt;B&gt;x&lt;/B&gt;\""),
        ("n [URL=x label=\"a\\N\\nx\"]", "xlink:href=\"x\" xlink:title=\"an\\nx\""),
        ("n [URL=x label=<a<B>x</B>>]", "xlink:href=\"x\" xlink:title=\"a&lt;B&gt;x&lt;/B&gt;\""),
        ("n [URL=x label=<<TABLE><TR><TD>x</TD></TR></TABLE>>]", "xlink:href=\"x\" xlink:title=\"&lt;TABLE&gt;\""),
        ("n [URL=x shape=record label=<a|b>]", "xlink:href=\"x\" xlink:title=\"a|b\""),
        ("n [URL=x label=\"\"]", "xlink:href=\"x\">"),
        ("n [URL=x]", "xlink:href=\"x\" xlink:title=\"n\">"),
        ("a -> b [URL=u label=l]", "<g id=\"a_edge1\"><a xlink:href=\"u\" xlink:title=\"l\">"),
        ("a -> b [URL=u label=l edgeURL=e]", "<g id=\"a_edge1\"><a xlink:href=\"e\" xlink:title=\"l\">"),
        ("a -> b [URL=u label=l edgeURL=e]", "<g id=\"a_edge1&#45;label\"><a xlink:href=\"u\" xlink:title=\"l\">"),
        ("a -> b [edgehref=h edgeURL=e label=\"x\\E\\ny\"]", "<a xlink:href=\"h\" xlink:title=\"xa&#45;&gt;b\\ny\">"),
        ("a -> b [URL=u target=t edgetarget=et]", "<g id=\"a_edge1\"><a xlink:href=\"u\" target=\"et\">"),
        ("a -> b [URL=u tooltip=t edgetooltip=et label=l]", "<g id=\"a_edge1\"><a xlink:href=\"u\" xlink:title=\"t\">"),
        ("a -> b [edgetooltip=et edgeURL=u]", "<g id=\"a_edge1\"><a xlink:href=\"u\" xlink:title=\"et\">"),
        ("a -> b [headURL=u headlabel=<h<I>l</I>>]", "xlink:title=\"h&lt;I&gt;l&lt;/I&gt;\">"),
        ("a -> b [URL=u xlabel=l]", "<g id=\"a_edge1\"><a xlink:href=\"u\">"),
    ] {
        let svg = svg_of(&format!("digraph {{ {source} }}"));
        assert!(svg.contains(expected), "{source}: {expected} is missing: {svg}");
    }
}
