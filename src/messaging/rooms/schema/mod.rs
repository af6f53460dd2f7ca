//! Schemas of rooms: JSON Schema 2020-12 within bounds (D5).
//!
//! Whoever may set a room's schema decides what runs whenever somebody sends to it, so a schema is hostile until shown
//! otherwise. Therefore:
//!
//! - nothing is fetched: a reference leads to a place of the schema itself, or the schema is refused;
//! - patterns are those of a linear engine, and each knows what it may cost;
//! - a check has a number of steps, and a depth. What it cannot finish within them does not fit;
//! - numbers are compared and divided exactly, and none has an exponent that takes time;
//! - equal items are found by sorting, names by their order.
//!
//! Read is the vocabulary of core, applicators, validation and unevaluated; what is only an annotation, `format` too, asks
//! for nothing. A keyword that nobody knows is an annotation. A keyword that is known and says something wrong is a fault.
//!
//! Nouns: a *schema* holds schemas at *places*; each is compiled to a *node*, whose *rules* are what it asks for. A
//! *misfit* is something in a payload that a rule does not find.
//!
//! Reading order: `fault` (what is told) · `budget` · `decimal` · `same` (when values are equal) · `translated`, `pattern` ·
//! `reference` · `model` (what a compiled schema is) · `places` (which schemas there are, and what refers to what) ·
//! `keywords`, `rules` (what each asks for) · `circles` · `check` (the way of a check) · `scalars`,
//! `combined`, `children` (what is asked) · `verdict` · `compile` (the whole).

mod budget;
mod check;
mod children;
mod circles;
mod combined;
mod compile;
mod decimal;
mod fault;
mod keywords;
mod model;
mod pattern;
mod places;
mod reference;
mod rules;
mod same;
mod scalars;
mod translated;
mod verdict;

#[cfg(test)]
mod tests;

pub(crate) use compile::Schema;
