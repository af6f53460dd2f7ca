//! Why no answer came.

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The address is no absolute `https://` or `http://` one, or its host is not plainly written.
    #[error("not an https:// or http:// address of a plainly written host")]
    Unusable,
    /// The name does not resolve.
    #[error("the name does not resolve")]
    Unresolved,
    /// An address of the name is outside the public internet and not allowed.
    #[error("the address is not of the public internet; egress.allow_private does not list it")]
    Forbidden,
    /// `http://`, and the address is not one the operator allows.
    #[error("not encrypted: http:// is for the networks of egress.allow_private alone")]
    Plain,
    /// The port is none that may be called on the public internet.
    #[error("another port than 443 is for the networks of egress.allow_private alone")]
    WrongPort,
    /// What answers proves by no certificate that it is who was called.
    #[error("no trusted certificate for this name; tls.extra_ca adds an authority of your own")]
    Untrusted,
    /// What answers breaks TLS off before it has shown who it is.
    #[error("no TLS there")]
    NoTls,
    /// It did not come in time.
    #[error("no answer in time")]
    TimedOut,
    /// The connection could not be made, or broke, or the answer is malformed or too large.
    #[error("no connection, or no proper answer")]
    Broken,
}
