//! The listener: as many connections as there may be, each served by itself.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::connection::{Served, serve};
use super::places::Places;
use super::reply::Reply;
use crate::context::Context;

/// How long nobody is accepted after that has failed, as when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(20);
/// How long whoever is turned away may take to hear why.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// A running listener.
#[derive(Debug)]
pub struct SmtpListening {
    places: Places,
}

impl SmtpListening {
    /// Serves what comes until `stop` turns true; encrypted where a client asks for it, if there is anything that encrypts.
    pub fn start(
        context: Context,
        listener: TcpListener,
        acceptor: Option<TlsAcceptor>,
        stop: watch::Receiver<bool>,
    ) -> SmtpListening {
        let places = Places::default();
        tokio::spawn(accept(context, listener, acceptor, places.clone(), stop));
        SmtpListening { places }
    }

    /// Waits until every connection has ended.
    pub async fn drained(&self) {
        self.places.emptied().await;
    }
}

async fn accept(
    context: Context,
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    places: Places,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        let (mut stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection of mail");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let served = Served { context: context.clone(), acceptor: acceptor.clone(), source: address.ip() };
        match places.enter(address.ip()) {
            Some(place) => {
                tokio::spawn(serve(Box::new(stream), served, Some(place)));
            }
            None => {
                tokio::spawn(async move {
                    use tokio::io::AsyncWriteExt as _;
                    let mut out = Vec::new();
                    Reply::new(421, "4.7.0", "too many connections; try again later").write(&mut out);
                    let telling = async {
                        stream.write_all(&out).await?;
                        stream.shutdown().await
                    };
                    let _ = tokio::time::timeout(REFUSAL_TIME, telling).await;
                });
            }
        }
    }
}
