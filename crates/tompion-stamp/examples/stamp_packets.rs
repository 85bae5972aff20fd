//! Writes STAMP packets as hexadecimal digits, one for each line on standard input: what the
//! acceptance tests hold against Scapy. A line is the name of a packet and its fields:
//!
//! - `request` and `reply`: base packets of unauthenticated mode, with stamps in ns since 1970;
//! - `asking sequence=N sent=NS`: the request of number N of a sender that asks for all TLVs;
//! - `reflected packet=HEX received=NS sent=NS`: our reflector's reply to a packet.
//!
//! What cannot be done gives a line that begins with `error`.

use std::io::BufRead;

use tompion_stamp::{
    Arrival, Ask, ErrorEstimate, Mode, Reflector, ReflectorConfig, ReplyFields, RequestFields,
    Sender, SenderConfig, Stamp, TimeFormat,
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut reflector = Reflector::new(ReflectorConfig::default())?;
    for line in std::io::stdin().lock().lines() {
        match packet(&Line::new(&line?), &mut reflector) {
            Ok(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                println!("{digits}");
            }
            Err(why) => println!("error {why}"),
        }
    }
    Ok(())
}

/// Words of a line: a name, and `field=value`.
struct Line<'a>(Vec<&'a str>);

impl<'a> Line<'a> {
    fn new(line: &'a str) -> Self {
        Self(line.split_whitespace().collect())
    }

    fn field(&self, name: &str) -> Result<&'a str, Failure> {
        let mut pairs = self.0.iter().filter_map(|word| word.split_once('='));
        let found = pairs.find(|(key, _)| *key == name);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| format!("no field {name}").into())
    }

    fn number<T: std::str::FromStr<Err: Into<Failure>>>(&self, name: &str) -> Result<T, Failure> {
        self.field(name)?.parse().map_err(Into::into)
    }

    /// `synchronized/format/nanoseconds`, as `1/ptp/1000`.
    fn estimate(&self, name: &str) -> Result<ErrorEstimate, Failure> {
        let parts: Vec<_> = self.field(name)?.split('/').collect();
        let [synchronized, format, error_ns] = parts[..] else {
            return Err("an estimate has three parts".into());
        };
        let format = match format {
            "ptp" => TimeFormat::Ptp,
            _ => TimeFormat::Ntp,
        };
        Ok(ErrorEstimate::new(
            synchronized == "1",
            format,
            error_ns.parse()?,
        ))
    }
}

fn packet(line: &Line<'_>, reflector: &mut Reflector) -> Result<Vec<u8>, Failure> {
    match line.0.first().copied() {
        Some("request") => request(line),
        Some("reply") => reply(line),
        Some("asking") => asking(line),
        Some("reflected") => reflected(line, reflector),
        other => Err(format!("no packet is called {other:?}").into()),
    }
}

fn request(line: &Line<'_>) -> Result<Vec<u8>, Failure> {
    let error = line.estimate("error")?;
    let fields = RequestFields {
        sequence: line.number("sequence")?,
        time: error.format.encode(line.number("sent")?),
        error,
        ssid: line.number("ssid")?,
    };
    let mut bytes = vec![0; 44];
    assert!(fields.write(Mode::Unauthenticated, &mut bytes));
    Ok(bytes)
}

fn reply(line: &Line<'_>) -> Result<Vec<u8>, Failure> {
    let (error, sender_error) = (line.estimate("error")?, line.estimate("sender_error")?);
    let fields = ReplyFields {
        sequence: line.number("sequence")?,
        time: error.format.encode(line.number("sent")?),
        error,
        ssid: line.number("ssid")?,
        received: error.format.encode(line.number("received")?),
        sender_sequence: line.number("sender_sequence")?,
        sender_time: sender_error.format.encode(line.number("sender_sent")?),
        sender_error,
        sender_ttl: line.number("ttl")?,
    };
    let mut bytes = vec![0; 44];
    assert!(fields.write(Mode::Unauthenticated, &mut bytes));
    Ok(bytes)
}

fn asking(line: &Line<'_>) -> Result<Vec<u8>, Failure> {
    let mut sender = Sender::new(SenderConfig {
        ask: Ask {
            timestamp_information: true,
            dscp: Some(46),
            direct_measurement: true,
            follow_up: true,
            tompion: true,
            control: None,
            arrivals: 0,
        },
        bytes: Some(300),
        ..SenderConfig::default()
    })?;
    let mut bytes = vec![0; sender.request_bytes()];
    let wanted: u32 = line.number("sequence")?;
    for _ in 0..=wanted {
        let request = sender.prepare(&mut bytes, 0).ok_or("no room")?;
        sender.stamp(&request, &mut bytes, line.number("sent")?);
    }
    Ok(bytes)
}

fn reflected(line: &Line<'_>, reflector: &mut Reflector) -> Result<Vec<u8>, Failure> {
    let digits = line.field("packet")?;
    let byte = |at: usize| {
        digits
            .get(at..at + 2)
            .map(|two| u8::from_str_radix(two, 16))
    };
    let bytes = (0..digits.len()).step_by(2).map(byte);
    let datagram = bytes
        .collect::<Option<Result<Vec<u8>, _>>>()
        .ok_or("half a byte")??;
    let arrival = Arrival {
        datagram: &datagram,
        source: "127.0.0.1:40000".parse()?,
        received: Stamp::kernel(line.number("received")?),
        ttl: Some(61),
        traffic_class: Some(46 << 2),
        now_ns: 0,
    };
    let mut out = vec![0; datagram.len()];
    let reply = reflector.reflect(&arrival, &mut out)?;
    reflector.stamp(&reply, &mut out, line.number("sent")?);
    Ok(out)
}
