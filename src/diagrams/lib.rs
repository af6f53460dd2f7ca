//! Diagrams: DOT in, the picture Graphviz's `dot` would draw out, as SVG or PNG.
