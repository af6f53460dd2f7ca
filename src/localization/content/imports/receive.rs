//! The bytes of an upload, stored sealed as they arrive.

use quintet_platform::secrets::Digest;
use quintet_storage::large::{LargeValue, Upload};
use quintet_storage::{Abort, Store};
use sha2::{Digest as _, Sha256};

use crate::content::sealed;
use crate::formats::FILE_BYTES_MAX;
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The bytes of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// The bytes.
    pub value: LargeValue,
    /// SHA-256 of them.
    pub sha256: Digest,
}

/// Takes them in.
pub struct Receiver {
    upload: Upload,
    hash: Sha256,
    arrived: usize,
}

impl Receiver {
    /// Nothing has arrived yet.
    ///
    /// # Errors
    /// Only the store's.
    pub async fn begin(store: &Store, tenant_id: TenantId) -> Result<Receiver, Abort<Refusal>> {
        Ok(Receiver { upload: sealed::begin(store, tenant_id).await?, hash: Sha256::new(), arrived: 0 })
    }

    /// Some more bytes.
    ///
    /// # Errors
    /// [`Refusal::UploadTooLarge`]; [`Refusal::UploadExpired`] if it takes longer than such values are kept.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<(), Abort<Refusal>> {
        self.arrived += bytes.len();
        if self.arrived > FILE_BYTES_MAX {
            return Err(Refusal::UploadTooLarge.into());
        }
        self.hash.update(bytes);
        self.upload.push(bytes).await.map_err(sealed::refused)
    }

    /// That was all.
    ///
    /// # Errors
    /// As [`Receiver::push`].
    pub async fn finish(self) -> Result<Original, Abort<Refusal>> {
        let value = self.upload.finish().await.map_err(sealed::refused)?;
        Ok(Original { value, sha256: self.hash.finalize().into() })
    }
}
