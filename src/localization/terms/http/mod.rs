//! Glossary and style over HTTP.

pub mod glossary;
pub mod style;
