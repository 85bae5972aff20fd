//! Options of `tompion reflect`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::ping::StampFormat;
use super::values;
use crate::output::OutputOptions;

/// Answer STAMP test packets, until interrupted.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion reflect
  tompion reflect --listen 0.0.0.0:862 --listen [::]:862
  tompion reflect --listen 192.0.2.7:8620 --key KEY

The far end of `tompion ping`, of routers and of other STAMP and TWAMP-Light
senders. Sends one reply for each request, never longer than that, at most 100 a
second to a stranger, and remembers a bounded number of them. With --key it is
silent to all who do not have the key, which is never sent:
  (umask 077; head -c 32 /dev/urandom | base64 > KEY)")]
pub struct ReflectOptions {
    /// Address and port to listen on; may be given more than once
    #[arg(short, long, value_name = "ADDR:PORT", default_value = "127.0.0.1:862", value_parser = values::address)]
    pub listen: Vec<SocketAddr>,

    /// Answer only who has the key in this file (authenticated mode)
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// Replies a second to each address that shows no key
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub rate: u32,

    /// How stamps are written in replies
    #[arg(long, value_enum, default_value_t = StampFormat::Ntp)]
    pub format: StampFormat,

    /// Count no replies by session: they have their requests' numbers
    #[arg(long)]
    pub stateless: bool,

    /// Replies that a sender with the key may ask for with one request
    #[arg(long, value_name = "N", requires = "key")]
    pub grant_replies: Option<u16>,

    /// Send back, too, what comes by TCP at the same addresses, for `tompion ping --tcp`
    #[arg(long, conflicts_with = "key")]
    pub tcp: bool,

    /// Do not look for what keeps this reflector from answering
    #[arg(long)]
    pub no_observe: bool,

    #[command(flatten)]
    pub output: OutputOptions,
}
