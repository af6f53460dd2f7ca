//! Diagrams from outside: over HTTP, and on the command line.

mod render;
mod routes;
