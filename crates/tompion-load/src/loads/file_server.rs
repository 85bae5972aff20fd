//! `file-server`: files written through a server over TCP, synced there and read
//! back; the load of an NFS server as in Kirova 2019, section 2.1.3 (typical of
//! hosting), without installing one.

use std::path::Path;
use std::sync::Arc;
use tompion_model::Unavailable;

use super::files::{
    BLOCK_BYTES, MOST_FILE_BYTES, file_name, in_memory_note, nameless_file, used_up,
};
use super::network::loopback;
use crate::headroom::check_disk;
use crate::job::{Budget, Job, Plan};
use crate::load::{Load, Parse, Work, Writes};
use crate::peer::files::{Client, FILES, serve};
use crate::peer::hello::{Peer, Service, connect};
use crate::spec::{KEY, PEER, Size, Text};

pub(super) static ENTRY: Load = Load {
    name: "file-server",
    about: "files written through a server over TCP, synced there and read back; peer=HOST:PORT of a \
            `tompion peer --dir`, key=FILE for it, cpus=LIST",
    in_check: false,
    parse: Parse::Options(&[PEER, KEY], |options| {
        Ok(Arc::new(FileServer {
            peer: options.peer()?,
        }))
    }),
};

#[derive(Debug)]
struct FileServer {
    peer: Option<Peer>,
}

impl Work for FileServer {
    fn describe(&self, text: &mut Text) {
        text.peer(self.peer.as_ref());
    }

    fn writes(&self) -> Writes {
        match self.peer {
            None => Writes::Here,
            Some(_) => Writes::Elsewhere,
        }
    }

    fn plan(&self, budget: Budget) -> Result<Plan, Unavailable> {
        plan(self.peer.as_ref(), budget)
    }
}

fn plan(peer: Option<&Peer>, budget: Budget) -> Result<Plan, Unavailable> {
    let bytes = budget.operation_bytes(BLOCK_BYTES, MOST_FILE_BYTES)?;
    let mut jobs = Vec::new();
    let (stream, whose) = match peer {
        Some(peer) => (connect(peer, Service::Files)?.0, ""),
        None => {
            check_disk(Path::new("."), bytes * u64::from(FILES))?;
            // The first file shows whether the directory can be written to.
            nameless_file().map_err(Unavailable::refused("could not make a file"))?;
            let [here, there] = loopback()?;
            let server: Job = Box::new(move |_, gate| {
                gate.pass();
                let name = file_name(std::process::id());
                match serve(&there, Path::new("."), &name, || true) {
                    Ok(_) => "its client went away".to_owned(),
                    Err(e) => format!("its server failed: {e}"),
                }
            });
            jobs.push(server);
            (here, in_memory_note())
        }
    };
    let mut client = Client::new(stream).map_err(Unavailable::refused("could not set up TCP"))?;
    let mut pace = budget.pace(bytes);
    let client: Job = Box::new(move |counter, gate| {
        let mut content = vec![0xa5_u8; bytes as usize];
        gate.pass();
        let mut file = 0;
        while pace.wait() {
            content[0] = content[0].wrapping_add(1);
            let moved = client
                .write(file, &content)
                .and_then(|()| client.read(file, &content));
            if let Err(e) = moved {
                return format!("could not write and read a file through the server: {e}");
            }
            file = (file + 1) % FILES;
            counter.add(1);
            counter.add_bytes(2 * bytes);
        }
        used_up(budget)
    });
    jobs.push(client);
    let operation = format!(
        "file of {} written through a server over TCP, synced there{whose} and read back",
        Size(bytes)
    );
    Ok(Plan::new(operation, jobs))
}
