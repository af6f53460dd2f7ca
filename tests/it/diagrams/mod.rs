//! Diagrams from outside: over HTTP, and on the command line.

mod kroki;
mod render;
mod routes;
mod tools;
