//! What the appliance shows other systems: a bearer credential (RFC 6750).

use http::HeaderValue;

use crate::secrets::Secret;

/// `Authorization` with a credential, which is written into no log; `None`: no header field can carry it.
#[must_use]
pub fn bearer_field(credential: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", credential.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_carried_and_not_shown() {
        let value = bearer_field(&Secret::new("k".to_owned())).unwrap();
        assert_eq!((value.to_str().unwrap(), value.is_sensitive()), ("Bearer k", true));
        assert_eq!(bearer_field(&Secret::new("a\nb".to_owned())), None);
    }
}
