//! Settings of a tenant.

/// The longest name of a tenant, in characters.
pub const TENANT_NAME_CHARS_MAX: usize = 200;

/// What a tenant has set. What was never set is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What the tenant calls itself.
    pub display_name: Option<String>,
    /// How many people decide on what is legal; never zero. The default is [`Settings::QUORUM`].
    pub legal_approval_quorum: Option<u64>,
}

impl Settings {
    /// How many people decide on what is legal where nothing is set (localization, W6).
    pub const QUORUM: u64 = 1;

    /// How many different people must decide on what holds an item of class legal.
    #[must_use]
    pub fn quorum(&self) -> u64 {
        self.legal_approval_quorum.unwrap_or(Settings::QUORUM)
    }
}
