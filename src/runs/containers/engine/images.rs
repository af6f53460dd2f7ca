//! The image of a run: found, or pulled into the room that its tenant has for images.

use std::collections::BTreeSet;

use quintet_runtime::{Digest, ImageInfo, ImportTerms, RunnerError};

use super::core::{Engine, Trouble};
use crate::allowances::quotas;
use crate::containers::end::End;
use crate::containers::model::Reason;
use crate::images::model::OverQuota;
use crate::images::naming::{self, Room};
use crate::model::TenantId;
use crate::registry::{PullError, Puller, Reference};

/// Layers that a pull is told to count already: as many as a call to the runner has room for. Others count anew.
const COUNTED_MAX: usize = 20_000;

impl Engine {
    /// The image of a run, pulled if it is not here; or how the run ends without it.
    pub(super) async fn image(&self, tenant_id: TenantId, name: &str) -> Result<Result<ImageInfo, End>, Trouble> {
        let asked = name.to_owned();
        let present = self.call(move |runner| Puller::present(runner, &asked)).await?;
        let (image, is_new) = match present {
            Some(image) => (image, false),
            None => match self.pull(tenant_id, name).await? {
                Ok(image) => (image, true),
                Err(end) => return Ok(Err(end)),
            },
        };
        match self.name(tenant_id, &image).await? {
            Ok(()) => Ok(Ok(image)),
            Err(over) => {
                if is_new {
                    self.drop_unnamed(&image).await?;
                }
                Ok(Err(self.not_pulled(over.to_string())))
            }
        }
    }

    fn not_pulled(&self, message: String) -> End {
        End::failed(Reason::ImagePullFailed, message, self.context.clock.now())
    }

    async fn pull(&self, tenant_id: TenantId, name: &str) -> Result<Result<ImageInfo, End>, Trouble> {
        let now = self.context.clock.now();
        let not_found = |message: String| Ok(Err(End::failed(Reason::ImageNotFound, message, now)));
        let Ok(reference) = Reference::parse(name) else {
            return not_found("that is no reference of an image".to_owned());
        };
        let mut is_first = true;
        loop {
            let (room, max_image_mb) = self.image_room(tenant_id).await?;
            let counted =
                room.counted.iter().take(COUNTED_MAX).filter_map(|digest| Digest::parse(digest).ok()).collect();
            let terms = ImportTerms { reserve_bytes: None, room_bytes: Some(room.bytes), counted, is_pulled: true };
            match self.pull_on(&reference, terms).await? {
                Ok(image) => return Ok(Ok(image)),
                Err(PullError::Cancelled) => return Err(Trouble::Stopping),
                Err(PullError::Runner(error @ (RunnerError::Unavailable { .. } | RunnerError::Confused))) => {
                    return Err(error.into());
                }
                Err(PullError::NotFound) => return not_found(PullError::NotFound.to_string()),
                // Once more, in the room of what counts no more or has gone.
                Err(PullError::TooLarge(_)) if is_first && self.forget_absent(tenant_id).await? => {}
                Err(PullError::NoRoom) if is_first && self.evict().await? => {}
                Err(PullError::TooLarge(_)) => {
                    let over = OverQuota { max_image_mb, taken_bytes: room.taken_bytes };
                    return Ok(Err(self.not_pulled(over.to_string())));
                }
                Err(error) => return Ok(Err(self.not_pulled(error.to_string()))),
            }
            is_first = false;
        }
    }

    async fn pull_on(
        &self,
        reference: &Reference,
        terms: ImportTerms,
    ) -> Result<Result<ImageInfo, PullError>, Trouble> {
        let Ok(_turn) = self.pulls.acquire().await else { return Err(Trouble::Stopping) };
        let (context, runner, reference) = (self.context.clone(), self.runner.clone(), reference.clone());
        let pull = move || context.puller.pull_on(&runner, &reference, &terms, &context.is_pulling_over, &|_| {});
        tokio::task::spawn_blocking(pull).await.map_err(|_| Trouble::Stopping)
    }

    /// What the tenant's quota leaves for images, and the quota.
    async fn image_room(&self, tenant_id: TenantId) -> Result<(Room, u64), Trouble> {
        let context = self.context.clone();
        let look = move || {
            let (read, now) = context.store.read_now(context.clock.now());
            let max_image_mb = quotas::numbers(&read, tenant_id, &context.settings.ceilings)?.max_image_mb;
            Ok((naming::room(&read, now, tenant_id, max_image_mb)?, max_image_mb))
        };
        let looked = tokio::task::spawn_blocking(look).await;
        Ok(looked.unwrap_or(Err(quintet_storage::Failure::Panicked))?)
    }

    /// Has the tenant name an image, if it was pulled for runs. What an operator has imported counts for nobody.
    async fn name(&self, tenant_id: TenantId, image: &ImageInfo) -> Result<Result<(), OverQuota>, Trouble> {
        if !image.is_pulled {
            return Ok(Ok(()));
        }
        let digest = image.digest.to_string();
        let now = self.context.clock.now();
        let known = naming::find(&self.context.store.read(), tenant_id, &digest)?;
        if known.is_some_and(|known| known.is_noted(now)) {
            return Ok(Ok(()));
        }
        let asked = image.digest.clone();
        let layers = self.call(move |runner| runner.image_layers(&asked)).await?;
        let layers: Vec<_> = layers.into_iter().map(|layer| (layer.digest.to_string(), layer.bytes)).collect();
        let ceilings = self.context.settings.ceilings.clone();
        let named = self.write(move |tx, now| {
            let max_image_mb = quotas::numbers(tx, tenant_id, &ceilings)?.max_image_mb;
            naming::name(tx, now, tenant_id, max_image_mb, &digest, layers)
        });
        Ok(named.await?)
    }

    /// Has a tenant's images that are not here any more count no more; whether there were any.
    async fn forget_absent(&self, tenant_id: TenantId) -> Result<bool, Trouble> {
        let images = self.call(|runner| runner.images()).await?;
        let present: BTreeSet<String> = images.into_iter().map(|image| image.digest.to_string()).collect();
        Ok(self.write(move |tx, _| naming::forget_absent(tx, tenant_id, &present)).await?)
    }

    /// Two pulls of a tenant may each have found the room that is there for one: what the second has brought goes again,
    /// unless somebody else counts it.
    async fn drop_unnamed(&self, image: &ImageInfo) -> Result<(), Trouble> {
        let digest = image.digest.to_string();
        if naming::is_named(&self.context.store.read(), &digest)? {
            return Ok(());
        }
        match self.call(move |runner| runner.remove_image(&digest)).await {
            Ok(()) | Err(RunnerError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
