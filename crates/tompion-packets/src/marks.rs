//! How the packets of a measurement are known again by who sees them elsewhere.

use tompion_net::icmp::Echo;
use tompion_path::stamps::{Key as JoinKey, Packets, Stamp};
use tompion_stamp::TimeFormat;

/// How the packets of a measurement are known again by who sees them elsewhere.
#[derive(Clone, Debug)]
pub enum Marks {
    /// STAMP.
    Stamp {
        /// The session.
        ssid: u16,
        /// How T1 is written.
        format: TimeFormat,
        /// The probe of each sequence number.
        numbers: Vec<u64>,
    },
    /// ICMP echo.
    Icmp {
        /// What its requests are made of.
        echo: Echo,
    },
}

impl Marks {
    /// What each probe carries, in the order of the table; of a STAMP probe that was not sent
    /// nothing that any packet carries.
    pub fn keys(&self, packets: &Packets) -> Vec<JoinKey> {
        match self {
            Self::Stamp {
                ssid,
                format,
                numbers,
            } => {
                let never = |row: usize| JoinKey::bytes(&(row as u64).to_be_bytes());
                let mut keys: Vec<JoinKey> = (0..packets.len()).map(never).collect();
                for (sequence, number) in numbers.iter().enumerate() {
                    let row = *number as usize;
                    if let Some(sent) = packets.get(row, Stamp::UserSent) {
                        keys[row] = JoinKey::stamp(*ssid, sequence as u32, format.encode(sent));
                    }
                }
                keys
            }
            Self::Icmp { echo } => {
                let key = |row: usize| {
                    let number = row as u64;
                    let mark = [echo.token(number).to_be_bytes(), number.to_be_bytes()].concat();
                    JoinKey::icmp(echo.identifier, number as u16, &mark)
                };
                (0..packets.len()).map(key).collect()
            }
        }
    }
}
