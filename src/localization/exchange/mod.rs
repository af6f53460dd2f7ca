//! Exchange: translations, memory and glossary as documents that other tools read and write.
//!
//! Nouns: a *document* is what comes in or goes out, XLIFF, TMX or TBX; its *units* are what it has of keys, of units of the
//! memory, of entries of the glossary. A *part* of a document is what is written in one transaction.
//!
//! Invariants:
//! - of a document that is refused nothing is written: every unit is judged before the first is written;
//! - which parts a document has follows from the document alone, so that a repeat under the same Idempotency-Key finds out
//!   which were written;
//! - a document is never in memory as a whole on its way out; on its way in, what will be written of it is, and how much that
//!   may be of all documents together is bounded.
//!
//! Reading order: `texts` · `xliff` · `tmx` · `tbx` · `http`.

pub mod http;
mod tbx;
mod texts;
mod tmx;
mod xliff;
