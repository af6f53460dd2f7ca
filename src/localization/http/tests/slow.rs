//! Whoever takes a document slowly may have lost what let him read it.

use quintet_platform::access::revoke_key;
use quintet_platform::service::Dialect as _;

use super::*;
use crate::access::Wanted;
use crate::http::body_of;

#[tokio::test]
async fn whoever_reads_slowly_reads_no_longer_than_it_may() {
    let room = Room::open();
    let request = http::Request::builder()
        .header("authorization", format!("Bearer {}", room.api_key))
        .header("l10n-tenant", room.tenant_id.to_string());
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let caller = Localization::admit(&room.context, ENDPOINTS[0][0].route, &parts).await.unwrap();
    caller.demand(&room.context.store.read(), Wanted::Org("org_audit-read")).unwrap();
    let key_id = caller.key.key_id.clone();
    let mut body = body_of(room.context.clone(), caller, "1", (), |_, (), _| Ok(Some("more")));
    for expected in ["1", "more"] {
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), expected);
    }
    write(&room.context.store, move |tx, now| revoke_key(tx, now, None, &key_id).map(drop));
    assert!(body.frame().await.unwrap().is_err());
}
