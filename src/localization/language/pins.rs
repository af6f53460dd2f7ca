//! The releases that the tables were made from.

/// The release of CLDR that every table but the registry's was made from.
pub const CLDR_VERSION: &str = "48.2";

/// The `File-Date` of the IANA language subtag registry that the tables were made from.
pub const REGISTRY_DATE: &str = "2025-08-25";
