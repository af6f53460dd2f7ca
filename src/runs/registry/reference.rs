//! Names of images, as users of Docker write them: `busybox`, `busybox:1.36`, `name@sha256:…`, `host:5000/team/name:tag`.

use std::fmt;

use quintet_runtime::Digest;

/// The registry of names that say none.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Other names that the default registry goes by.
const DEFAULT_REGISTRY_ALIASES: [&str; 2] = ["index.docker.io", "registry-1.docker.io"];
/// Where the default registry answers.
const DEFAULT_REGISTRY_API: &str = "registry-1.docker.io";
/// The part of the default registry that names without a slash mean.
const DEFAULT_NAMESPACE: &str = "library";
/// The tag of names that say none.
const DEFAULT_TAG: &str = "latest";
/// The longest name, written out; the runner takes none that is longer.
const NAME_BYTES_MAX: usize = 255;
const TAG_BYTES_MAX: usize = 128;

/// An image's name with everything said: registry, repository, and tag or digest.
///
/// It prints in full, which is the name that a pulled image gets: `busybox` is `docker.io/library/busybox:latest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    host: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A text is not the name of an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAReference(&'static str);

impl Reference {
    /// Reads a name. What comes before the first slash is a registry if it has a dot or a colon or is `localhost`.
    ///
    /// # Errors
    /// [`NotAReference`], which says what is wrong.
    pub fn parse(text: &str) -> Result<Reference, NotAReference> {
        if text.len() > NAME_BYTES_MAX {
            return Err(NotAReference("the name of an image has at most 255 characters"));
        }
        let (name, digest) = match text.split_once('@') {
            None => (text, None),
            Some((name, digest)) => {
                let digest = Digest::parse(digest);
                (name, Some(digest.map_err(|_| NotAReference("the digest must be sha256: and 64 hexadecimal digits"))?))
            }
        };
        let is_host = |part: &str| part.contains(['.', ':']) || part == "localhost";
        let (host, rest) = match name.split_once('/') {
            Some((first, rest)) if is_host(first) => (normal_host(first)?, rest),
            _ => (DEFAULT_REGISTRY.to_owned(), name),
        };
        let (path, tag) = match rest.split_once(':') {
            None => (rest, None),
            Some((path, tag)) if is_tag(tag) => (path, Some(tag.to_owned())),
            Some(_) => return Err(NotAReference("a tag has 1 to 128 letters, digits, _, . and -")),
        };
        if path.is_empty() || !path.split('/').all(is_path_component) {
            return Err(NotAReference(
                "a repository has lower-case letters and digits, with single . _ or - between them, and /",
            ));
        }
        let path = match host == DEFAULT_REGISTRY && !path.contains('/') {
            true => format!("{DEFAULT_NAMESPACE}/{path}"),
            false => path.to_owned(),
        };
        let tag = tag.or_else(|| digest.is_none().then(|| DEFAULT_TAG.to_owned()));
        let reference = Reference { host, path, tag, digest };
        match reference.to_string().len() > NAME_BYTES_MAX {
            true => Err(NotAReference("the name of an image, written out, has at most 255 characters")),
            false => Ok(reference),
        }
    }

    /// The registry, as `runs.registries` names it.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The tag; `latest` if the name says neither a tag nor a digest.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, if the name has one. The tag says nothing then.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Where the registry answers: host and port.
    pub(super) fn api_authority(&self) -> &str {
        if self.host == DEFAULT_REGISTRY { DEFAULT_REGISTRY_API } else { &self.host }
    }

    /// What the registry knows the image by.
    pub(super) fn manifest_name(&self) -> &str {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.as_str(),
            (None, Some(tag)) => tag,
            (None, None) => DEFAULT_TAG,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// A registry's name as it is compared: small letters, one name for the default registry.
pub(super) fn normal_host(text: &str) -> Result<String, NotAReference> {
    let wrong = NotAReference("a registry is a host name or address, with a port if need be");
    let lower = text.to_ascii_lowercase();
    let uri: http::Uri = format!("https://{lower}/").parse().map_err(|_| wrong.clone())?;
    let authority = uri.authority().ok_or(wrong.clone())?;
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let host = authority.host();
    let is_name = host.split('.').all(|label| !label.is_empty() && label.bytes().all(is_label));
    let is_v6 = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    let has_port = lower.len() > host.len();
    if authority.as_str() != lower || !(is_name || is_v6) || (has_port && authority.port_u16().is_none()) {
        return Err(wrong);
    }
    match DEFAULT_REGISTRY_ALIASES.contains(&lower.as_str()) {
        true => Ok(DEFAULT_REGISTRY.to_owned()),
        false => Ok(lower),
    }
}

fn is_tag(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= TAG_BYTES_MAX
        && bytes.next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// Letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(text: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends_well = bytes.first().is_some_and(is_word) && bytes.last().is_some_and(is_word);
    let mut between = text.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    ends_well && between.all(|gap| matches!(gap, "" | "." | "_" | "__") || gap.bytes().all(|byte| byte == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_docker_reads_them() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (text, expected) in [
            ("busybox", "docker.io/library/busybox:latest"),
            ("busybox:1.36", "docker.io/library/busybox:1.36"),
            ("team/tool", "docker.io/team/tool:latest"),
            ("docker.io/busybox", "docker.io/library/busybox:latest"),
            ("index.docker.io/library/busybox:1", "docker.io/library/busybox:1"),
            ("localhost/x", "localhost/x:latest"),
            ("localhost:5000/a/b/c:T_1.x-y", "localhost:5000/a/b/c:T_1.x-y"),
            ("Registry.Example.com/x", "registry.example.com/x:latest"),
            ("registry.example.com:443/x.y__z---w", "registry.example.com:443/x.y__z---w:latest"),
            ("[::1]:5000/x", "[::1]:5000/x:latest"),
            ("127.0.0.1:5000/x:1", "127.0.0.1:5000/x:1"),
            (&format!("x@{digest}"), &format!("docker.io/library/x@{digest}")),
            (&format!("h:1/x:tag@{digest}"), &format!("h:1/x:tag@{digest}")),
        ] {
            let read = Reference::parse(text).map(|reference| reference.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
            assert_eq!(Reference::parse(expected).unwrap().to_string(), expected, "once more");
        }
        let reference = Reference::parse("busybox").unwrap();
        assert_eq!((reference.host(), reference.path()), ("docker.io", "library/busybox"));
        assert_eq!((reference.api_authority(), reference.manifest_name()), ("registry-1.docker.io", "latest"));
        let reference = Reference::parse(&format!("h:1/x:tag@{digest}")).unwrap();
        assert_eq!((reference.api_authority(), reference.manifest_name()), ("h:1", digest.as_str()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "a".repeat(256);
        let nearly = "a".repeat(250);
        for text in [
            "",
            "/",
            "Busybox",
            "a//b",
            "a/",
            "-a",
            "a-",
            "a..b",
            "a___b",
            "a._b",
            "a b",
            "a:",
            "a:-x",
            "a:x/y",
            "a:x:y",
            "a@sha256:12",
            "a@md5:1",
            "../a",
            "h:1/../a",
            "h:99999/a",
            "h:/a",
            "h:x/a",
            "user@h:1/a",
            "h.x?y/a",
            "h.x#y/a",
            "h.x%41/a",
            "[::1/a",
            "h..x/a",
            "é.x/a",
            &long,
            &nearly,
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
        assert!(Reference::parse(&format!("a:{}", "x".repeat(129))).is_err());
    }
}
