//! Probes that any host may answer: ICMP echo.

use tompion_net::Received;
use tompion_net::icmp::Echo;

use crate::account::Told;
use crate::marks::Marks;
use crate::speaker::{Heard, Speaker};

pub(crate) struct IcmpSpeaker {
    pub echo: Echo,
    pub bytes: usize,
}

impl Speaker for IcmpSpeaker {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn prepare(&mut self, number: u64, packet: &mut [u8], _: u64) -> usize {
        match packet.get_mut(..self.bytes) {
            Some(packet) => self.echo.write(number, packet),
            None => 0,
        }
    }

    // The moment of sending is not in it.
    fn stamp(&mut self, _: u64, _: i64, _: &mut [u8]) {}

    fn hear(&mut self, packet: &[u8], received: &Received) -> Heard {
        match self.echo.answered(packet) {
            Some(number) => {
                let far = crate::account::FarEnd {
                    ttl: received.ttl,
                    ..Default::default()
                };
                let told = Told {
                    far: Some(far),
                    ..Told::default()
                };
                Heard::Reply(number, told)
            }
            None => Heard::NotOurs,
        }
    }

    fn mark(&self) -> Marks {
        Marks::Icmp { echo: self.echo }
    }
}
