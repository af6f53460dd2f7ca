//! Where a pull puts what arrives: an OCI layout in a directory of its own, which goes with it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use quintet_platform::secrets::random_bytes;
use quintet_runtime::Digest;
use sha2::{Digest as _, Sha256};

use super::model::PullError;

/// Makes a directory that nobody else looks into, or empties it.
pub(super) fn make_empty(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// An image that is being put together.
pub(super) struct Layout {
    directory: PathBuf,
}

impl Layout {
    /// Below this directory.
    pub fn make(above: &Path) -> io::Result<Layout> {
        let layout = Layout { directory: above.join(HEXLOWER.encode(&random_bytes::<8>())) };
        let mut builder = DirBuilder::new();
        builder.mode(0o700).create(&layout.directory)?;
        for name in ["blobs", "blobs/sha256"] {
            builder.create(layout.directory.join(name))?;
        }
        layout.write("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        Ok(layout)
    }

    fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.directory.join(name);
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(content)
    }

    fn blob_name(digest: &Digest) -> String {
        format!("blobs/sha256/{}", digest.hex())
    }

    /// Puts a document that was checked.
    pub fn put(&self, digest: &Digest, content: &[u8]) -> io::Result<()> {
        self.write(&Layout::blob_name(digest), content)
    }

    /// Says which document is the image.
    pub fn put_index(&self, media_type: &str, digest: &Digest, size: usize) -> io::Result<()> {
        let index = serde_json::json!({
            "schemaVersion": 2,
            "manifests": [{ "mediaType": media_type, "digest": digest.as_str(), "size": size }],
        });
        self.write("index.json", index.to_string().as_bytes())
    }

    /// A blob lies here whole.
    pub fn has(&self, digest: &Digest) -> bool {
        self.directory.join(Layout::blob_name(digest)).exists()
    }

    /// A blob that is to arrive. It gets its name once it was found to be what it should.
    pub fn blob(&self, digest: &Digest, size: u64) -> io::Result<Blob> {
        let path = self.directory.join(Layout::blob_name(digest));
        let unfinished = path.with_extension("part");
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        let digest = digest.clone();
        Ok(Blob { path, unfinished, file, hash: Sha256::new(), length: 0, digest, size })
    }

    /// The directory, for the runner.
    pub fn open(&self) -> io::Result<OwnedFd> {
        Ok(File::open(&self.directory)?.into())
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!(path = %self.directory.display(), %error, "what a pull left cannot be removed");
        }
    }
}

/// A blob while it arrives.
pub(super) struct Blob {
    path: PathBuf,
    unfinished: PathBuf,
    file: File,
    hash: Sha256,
    length: u64,
    digest: Digest,
    size: u64,
}

impl Blob {
    /// Bytes that are here.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// No more bytes are to come.
    pub fn is_complete(&self) -> bool {
        self.length == self.size
    }

    /// Takes what arrives; not one byte more than there should be.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), PullError> {
        let length = self.length.saturating_add(bytes.len() as u64);
        if length > self.size {
            return Err(self.lie());
        }
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.length = length;
        Ok(())
    }

    /// Forgets what is here.
    pub fn begin_again(&mut self) -> Result<(), PullError> {
        if self.length > 0 {
            self.file = OpenOptions::new().write(true).truncate(true).open(&self.unfinished)?;
            self.hash = Sha256::new();
            self.length = 0;
        }
        Ok(())
    }

    /// Gives it its name if it is what it should be.
    pub fn finish(self) -> Result<(), PullError> {
        let found = HEXLOWER.encode(&self.hash.clone().finalize());
        if !self.is_complete() || found != self.digest.hex() {
            return Err(self.lie());
        }
        Ok(std::fs::rename(&self.unfinished, &self.path)?)
    }

    fn lie(&self) -> PullError {
        PullError::Lies(format!("{} with {} bytes", self.digest, self.size))
    }
}
