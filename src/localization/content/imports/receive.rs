//! The bytes of an upload, stored sealed as they arrive.

use quintet_platform::secrets::Digest;
use quintet_storage::large::{LargeValue, StagedValue, Upload};
use quintet_storage::{Abort, Store};
use sha2::{Digest as _, Sha256};

use crate::content::sealed;
use crate::formats::{FILE_BYTES_MAX, UNITS_MAX};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// The bytes of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// The bytes.
    pub value: LargeValue,
    /// SHA-256 of them.
    pub sha256: Digest,
    /// How many units they hold at most.
    pub units_max: usize,
}

/// What has arrived.
pub struct Arrived {
    /// SHA-256 of it.
    pub sha256: Digest,
    /// How many units it holds at most.
    pub units_max: usize,
    /// Its bytes, for as long as this is held or once they are adopted; `None`: it was passed over.
    pub staged: Option<StagedValue>,
}

/// Takes them in. What has arrived when this is dropped goes.
pub struct Receiver {
    /// `None`: they are passed over.
    upload: Option<Upload>,
    hash: Sha256,
    arrived: usize,
    /// How many bytes of them there may be that stand beside a unit.
    marks: usize,
}

/// Whether a unit of a string file cannot do without a byte like that beside it, whatever the format: behind a key in JSON and
/// YAML, behind or before an element of a list, at the end of a line of properties.
const fn is_mark(byte: &u8) -> bool {
    matches!(byte, b':' | b',' | b'-' | b'\n' | b'\r')
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
        Receiver { upload: None, hash: Sha256::new(), arrived: 0, marks: 0 }
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
        self.marks += bytes.iter().filter(|byte| is_mark(byte)).count();
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
        let staged = match self.upload {
            Some(upload) => Some(upload.stage().await.map_err(sealed::refused)?),
            None => None,
        };
        let units_max = UNITS_MAX.min(self.marks + 1);
        Ok(Arrived { sha256: self.hash.finalize().into(), units_max, staged })
    }
}
