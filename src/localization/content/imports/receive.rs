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

/// What has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// SHA-256 of it.
    pub sha256: Digest,
    /// `None`: it was passed over.
    pub original: Option<Original>,
}

/// Takes them in.
pub struct Receiver {
    /// `None`: they are passed over.
    upload: Option<Upload>,
    hash: Sha256,
    arrived: usize,
}

impl Receiver {
    /// Nothing has arrived yet.
    ///
    /// # Errors
    /// Only the store's.
    pub async fn begin(store: &Store, tenant_id: TenantId) -> Result<Receiver, Abort<Refusal>> {
        Ok(Receiver { upload: Some(sealed::begin(store, tenant_id).await?), ..Receiver::passing_over() })
    }

    /// One that stores nothing, for an upload that is refused already: only how much it is, and whether it is a repeat,
    /// comes before that.
    pub fn passing_over() -> Receiver {
        Receiver { upload: None, hash: Sha256::new(), arrived: 0 }
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
        match &mut self.upload {
            Some(upload) => upload.push(bytes).await.map_err(sealed::refused),
            None => Ok(()),
        }
    }

    /// That was all.
    ///
    /// # Errors
    /// As [`Receiver::push`].
    pub async fn finish(self) -> Result<Arrived, Abort<Refusal>> {
        let sha256 = self.hash.finalize().into();
        let original = match self.upload {
            Some(upload) => Some(Original { value: upload.finish().await.map_err(sealed::refused)?, sha256 }),
            None => None,
        };
        Ok(Arrived { sha256, original })
    }
}
