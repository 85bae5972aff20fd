//! `download`: TCP received (Korniichuk 2017 downloads by RMDT, over UDP).

use std::sync::Arc;
use tompion_model::Unavailable;

use super::network::{Pump, job, loopback, receiver};
use crate::job::{Budget, Plan};
use crate::load::{Load, Parse, Work};
use crate::peer::bulk::{BLOCK_BYTES, send_bulk};
use crate::peer::hello::{Peer, Service, connect};
use crate::spec::{KEY, PEER, Size, Text};

pub(super) static ENTRY: Load = Load {
    name: "download",
    about: "TCP received over loopback; peer=HOST:PORT from another machine, key=FILE for it, \
            cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[PEER, KEY], |options| {
        Ok(Arc::new(Download {
            peer: options.peer()?,
        }))
    }),
};

#[derive(Debug)]
struct Download {
    peer: Option<Peer>,
}

impl Work for Download {
    fn describe(&self, text: &mut Text) {
        text.peer(self.peer.as_ref());
    }

    fn plan(&self, _: Budget) -> Result<Plan, Unavailable> {
        plan(self.peer.as_ref())
    }
}

/// What is counted is what arrives here.
fn plan(peer: Option<&Peer>) -> Result<Plan, Unavailable> {
    let jobs = match peer {
        Some(peer) => vec![receiver(connect(peer, Service::Download)?.0)],
        None => {
            let [here, there] = loopback()?;
            let serve: Pump = |stream, _| send_bulk(stream, |_| true);
            vec![receiver(here), job(there, "send", serve)]
        }
    };
    let operation = format!("{} received over TCP", Size(BLOCK_BYTES as u64));
    Ok(Plan::new(operation, jobs))
}
