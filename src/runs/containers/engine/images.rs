//! The image of a run: found, or pulled into the room that its tenant has for images.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use quintet_runtime::{Digest, ImageInfo, ImportTerms, RunnerError};
use tokio::time::{Instant, timeout};

use super::core::{Engine, Trouble};
use crate::allowances::quotas;
use crate::aside::Standing;
use crate::containers::end::{End, QUEUE_TIMEOUT};
use crate::containers::model::{Reason, Run};
use crate::images::model::OverQuota;
use crate::images::naming::{self, Room};
use crate::model::{RunKey, TenantId};
use crate::registry::{PullError, Puller, Reference};

/// Layers that a pull is told to count already: as many as a call to the runner has room for. Others count anew.
const COUNTED_MAX: usize = 20_000;

/// How long a run waits for its image; one that has arrived by then is unpacked in any case.
const PULL_TIME: Duration = Duration::from_secs(600);
/// How often a run that waits for its image looks whether it may still start.
const EXPIRY_POLL: Duration = Duration::from_secs(1);

impl Engine {
    /// The image of a run, pulled if it is not here; or how the run ends without it.
    pub(super) async fn image(self: &Arc<Self>, run_key: RunKey, run: &Run) -> Result<Result<ImageInfo, End>, Trouble> {
        let asked = run.image.clone();
        if let Some(image) = self.call(move |runner| Puller::present(runner, &asked)).await? {
            return self.named(run_key.0, image, false).await;
        }
        let now = || self.context.clock.now();
        let Ok(reference) = Reference::parse(&run.image) else {
            let message = "that is no reference of an image";
            return Ok(Err(End::failed(Reason::ImageNotFound, message, now())));
        };
        // Others need not wait for its image: its worker is free from here on.
        let standing = self.context.aside.step(run_key, run.eligible_start);
        self.context.look();
        tokio::select! {
            biased;
            // First: an image that has arrived counts for somebody.
            image = self.arrived(run_key, run, &reference, &standing) => image,
            () = self.context.stopping.stopped() => Err(Trouble::Stopping),
            () = standing.killed() => Ok(Err(End::killed(now()))),
            () = self.expired(run) => Ok(Err(End::expired(now()))),
        }
    }

    /// Waits for the image of a run that is aside, and then for a worker.
    async fn arrived(
        self: &Arc<Self>,
        run_key: RunKey,
        run: &Run,
        reference: &Reference,
        standing: &Standing,
    ) -> Result<Result<ImageInfo, End>, Trouble> {
        let named = match self.pull(run_key.0, reference).await? {
            // Also for a run that is killed meanwhile.
            Ok(image) => {
                let engine = Arc::clone(self);
                tokio::spawn(async move { engine.named(run_key.0, image, true).await }).await
            }
            Err(end) => return Ok(Err(end)),
        };
        let image = match named.unwrap_or(Err(Trouble::Stopping))? {
            Ok(image) => image,
            Err(end) => return Ok(Err(end)),
        };
        standing.ready();
        self.context.look();
        let given = timeout(run.queue_patience(), standing.given()).await;
        let late = |_| End::failed(Reason::QueueTimeout, QUEUE_TIMEOUT, self.context.clock.now());
        Ok(given.map(|()| image).map_err(late))
    }

    /// Waits until a run must not start any more. The clock may be one that somebody sets.
    async fn expired(&self, run: &Run) {
        while run.expires_at.is_none_or(|expiry| expiry > self.context.clock.now()) {
            tokio::time::sleep(EXPIRY_POLL).await;
        }
    }

    /// An image that is here, once the tenant names it; or how its run ends.
    async fn named(
        &self,
        tenant_id: TenantId,
        image: ImageInfo,
        is_new: bool,
    ) -> Result<Result<ImageInfo, End>, Trouble> {
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

    async fn pull(&self, tenant_id: TenantId, reference: &Reference) -> Result<Result<ImageInfo, End>, Trouble> {
        let until = Instant::now() + PULL_TIME;
        let mut is_first = true;
        loop {
            let (room, max_image_mb) = self.image_room(tenant_id).await?;
            let counted =
                room.counted.iter().take(COUNTED_MAX).filter_map(|digest| Digest::parse(digest).ok()).collect();
            let terms = ImportTerms { reserve_bytes: None, room_bytes: Some(room.bytes), counted, is_pulled: true };
            let error = match self.pulls.pull(tenant_id, reference, &terms, until).await {
                Ok(image) => return Ok(Ok(image)),
                Err(error) => error,
            };
            match &*error {
                PullError::Cancelled => return Err(Trouble::Stopping),
                PullError::Runner(RunnerError::Unavailable { .. } | RunnerError::Confused) => {
                    return Err(Trouble::Pull(error));
                }
                PullError::NotFound => {
                    let now = self.context.clock.now();
                    return Ok(Err(End::failed(Reason::ImageNotFound, error.to_string(), now)));
                }
                // Once more, in the room of what counts no more or has gone.
                PullError::TooLarge(_) if is_first && self.forget_absent(tenant_id).await? => {}
                PullError::NoRoom if is_first && self.evict().await? => {}
                PullError::TooLarge(_) => {
                    let over = OverQuota { max_image_mb, taken_bytes: room.taken_bytes };
                    return Ok(Err(self.not_pulled(over.to_string())));
                }
                _ => return Ok(Err(self.not_pulled(error.to_string()))),
            }
            is_first = false;
        }
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
