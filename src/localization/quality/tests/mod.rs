//! What the checks say of texts in many languages.
