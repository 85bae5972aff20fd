//! Secrets planted in a run's record, in any place and any words: none is left in what is shown.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;
use tompion_assess::verdict::assess;
use tompion_model::{CpuUse, Note, ProgramUse, RunRecord, json_schema, note_kind};
use tompion_report::{FORMS, Make, ReportData, Vocabulary, redacted, terminal};
use tompion_store::Run;

use crate::Target;
use crate::input::Input;
use crate::run_files::{bases, golden};
use crate::scratch;

pub static ENTRY: Target = Target {
    name: "redaction",
    about: "secrets in any text of a run: `--redact` leaves none in any form",
    parser: &[
        "tompion-report/src/redact.rs",
        "tompion-report/src/redact/levels.rs",
        "tompion-report/src/redact/names.rs",
        "tompion-report/src/redact/processes.rs",
        "tompion-report/src/redact/words.rs",
    ],
    most_bytes: 256,
    run,
};

/// What every secret holds, in lower case, however it is written.
const SECRET: &str = "zqsecret";

/// What may stand beside a secret in a text of a class that stays.
const BORDERS: [&str; 16] = [
    " ", ",", ";", "(", ")", "[", "]", "{", "}", "\"", "'", "=", "<", ">", "|", "\t",
];

/// A text of the record, and what it is about.
struct Place {
    path: Vec<String>,
    class: String,
}

/// The run that is told of, and where its texts are.
struct Told {
    _place: TempDir,
    directory: std::path::PathBuf,
    record: Value,
    places: Vec<Place>,
}

fn told() -> &'static Told {
    static TOLD: OnceLock<Told> = OnceLock::new();
    TOLD.get_or_init(|| {
        let place = scratch::directory();
        let directory = place.path().join("run");
        std::fs::create_dir(&directory).expect("a directory");
        // With every mark and cause, and an environment.
        bases()[2].put(&directory);
        let run = Run::open(&directory).expect("sound");
        let schema: Value = serde_json::from_str(&json_schema()).expect("JSON");
        let record = serde_json::to_value(wordy(run.record())).expect("JSON");
        let mut places = Vec::new();
        texts(
            &record,
            &schema,
            &[&schema],
            &mut Vec::new(),
            None,
            &mut places,
        );
        // Names of files, checksums and causes are what they are.
        places.retain(|p| p.class != "exact");
        // The program's own remarks stay but for words that nobody knows.
        let own = [
            note_kind::INTERRUPTED,
            note_kind::TIME_RAN_OUT,
            note_kind::NOT_FINISHED,
        ];
        for place in &mut places {
            if let [notes, i, text] = &place.path[..]
                && (notes == "notes" && text == "text")
                && let Ok(i) = i.parse::<usize>()
                && let Some(kind) = record["notes"][i]["kind"].as_str()
                && own.contains(&kind)
            {
                place.class = "harmless".to_owned();
            }
        }
        assert!(places.len() > 50, "{} texts", places.len());
        Told {
            _place: place,
            directory,
            record,
            places,
        }
    })
}

/// The record with all that a measured one has words on: machine, platforms, loads, evidence.
fn wordy(record: &RunRecord) -> RunRecord {
    let place = scratch::directory();
    golden("version-2", true).put(place.path());
    let measured = Run::open(place.path()).expect("sound");
    let measured = measured.record();
    let mut record = record.clone();
    record.header = measured.header.clone();
    record.platforms.clone_from(&measured.platforms);
    record.clock_readings.clone_from(&measured.clock_readings);
    let other = ProgramUse {
        name: "x".to_owned(),
        cpu_time_ns: 1,
    };
    let cpu_use = Some(CpuUse {
        most: vec![other],
        ..CpuUse::default()
    });
    record.cpu_use_before.clone_from(&cpu_use);
    for (trial, model) in record.trials.iter_mut().zip(&measured.trials) {
        trial.load.clone_from(&model.load);
        trial.observation.clone_from(&model.observation);
        trial.cpu_use.clone_from(&cpu_use);
        trial.measurement = model.measurement.clone();
        trial.factors = trial
            .factors
            .clone()
            .with("platform", "qemu")
            .with("other", "level");
        if let Some(load) = &mut trial.load {
            load.notes.push("x".to_owned());
        }
    }
    let more = || "x".to_owned();
    let header = &mut record.header;
    header.guards.push(more());
    let environment = &mut header.environment;
    environment.kernel.timing_options.push(more());
    environment.virtualization.evidence.push(more());
    environment.virtualization.features.push(more());
    environment.container.evidence.push(more());
    for platform in &mut record.platforms {
        platform.settings.push(more());
        platform.versions.push(more());
        platform.absent = Some(more());
    }
    record.notes.push(Note::new(note_kind::MACHINE, more()));
    record.notes.push(Note::new(note_kind::INTERRUPTED, more()));
    record
}

/// Every text of a value, with the class that the schema gives it.
fn texts(
    value: &Value,
    root: &Value,
    schemas: &[&Value],
    path: &mut Vec<String>,
    class: Option<&str>,
    found: &mut Vec<Place>,
) {
    let all = alternatives(root, schemas);
    let own = all.iter().find_map(|s| s.get("privacy")?.as_str());
    let class = own.or(class);
    let is_closed = |s: &&&Value| s.get("enum").is_some() || s.get("const").is_some();
    let parts: Vec<(String, &Value)> = match value {
        Value::String(_) if all.iter().find(is_closed).is_none() => {
            found.push(Place {
                path: path.clone(),
                class: class.unwrap_or("text").to_owned(),
            });
            return;
        }
        Value::Array(all) => all
            .iter()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        Value::Object(all) => all.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => return,
    };
    for (key, part) in parts {
        let of = |s: &&'_ Value| match value {
            Value::Array(_) => s.get("items").cloned(),
            _ => {
                let named = s.get("properties").and_then(|p| p.get(&key));
                named.or_else(|| s.get("additionalProperties")).cloned()
            }
        };
        let below: Vec<Value> = all.iter().filter_map(of).collect();
        path.push(key);
        texts(
            part,
            root,
            &below.iter().collect::<Vec<_>>(),
            path,
            class,
            found,
        );
        path.pop();
    }
}

fn alternatives<'s>(root: &'s Value, schemas: &[&'s Value]) -> Vec<&'s Value> {
    let mut found = schemas.to_vec();
    let mut at = 0;
    while let Some(schema) = found.get(at).copied() {
        for key in ["anyOf", "oneOf", "allOf"] {
            found.extend(
                schema
                    .get(key)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
        let name = schema.get("$ref").and_then(Value::as_str);
        found.extend(name.and_then(|name| root.pointer(name.strip_prefix('#')?)));
        at += 1;
    }
    found
}

/// A secret as it may be written, and what must not be seen of it.
fn secret(input: &mut Input<'_>) -> (String, String) {
    let plain = |text: String| (text, SECRET.to_owned());
    match input.below(12) {
        0 => plain(format!("/home/{SECRET}/{}", input.below(10))),
        1 => plain(format!("/srv/{SECRET}")),
        2 => plain(format!("someone@{SECRET}.example.org")),
        3 => plain(format!("~{SECRET}/bin/x")),
        4 => {
            let address = Ipv4Addr::from_bits(0x0a00_0000 | input.u32() >> 8).to_string();
            let ports = ["", ":9000", "/16"];
            let text = format!("{address}{}", ports[input.below(ports.len())]);
            (text, address)
        }
        5 => {
            let low = u128::from(input.u32()) << 32 | u128::from(input.u32());
            let address = Ipv6Addr::from_bits(0x2001_0db8 << 96 | 0xface << 64 | low).to_string();
            (address.clone(), address)
        }
        6 => {
            let [a, b, c, d] = input.u32().to_le_bytes();
            let address = format!("52:54:{a:02x}:{b:02x}:{c:02x}:{d:02x}");
            (address.clone(), address)
        }
        7 => {
            let (a, b) = (input.u32(), input.u16());
            let id = format!("{a:08x}-{b:04x}-4222-8333-abcdef{a:06x}");
            let id = id.chars().take(36).collect::<String>();
            (id.clone(), id)
        }
        8 => {
            let address = (0x0a00_0000 | input.u32() >> 8).to_string();
            (address.clone(), address)
        }
        9 => {
            let address = format!("0x{:08x}", 0x0a00_0000 | input.u32() >> 8);
            (address.clone(), address)
        }
        10 => {
            let [a, b, c, d] = input.u32().to_le_bytes();
            let between = [" ", "-", "_", ", "][input.below(4)];
            let octets = [0xfe, 0x54, a, b, c, d].map(|octet| format!("{octet:02x}"));
            let address = octets.join(between);
            (address.clone(), address)
        }
        _ => plain(format!("{SECRET} {}", input.below(100))),
    }
}

fn vocabulary() -> Vocabulary {
    Vocabulary {
        probes: tompion_run::probes::PROBES
            .iter()
            .map(|probe| probe.name)
            .collect(),
        loads: tompion_load::loads().map(|load| load.name).collect(),
        load_options: tompion_load::loads()
            .flat_map(|load| load.option_keys())
            .collect(),
        observations: tompion_run::Observe::ALL
            .map(tompion_run::Observe::name)
            .to_vec(),
        platforms: tompion_platforms::platform::KINDS
            .iter()
            .map(|kind| kind.name)
            .collect(),
        uses: Vec::new(),
    }
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let chosen = input.byte();
    let told = told();
    let run = Run::open(&told.directory).expect("sound");
    let mut record = told.record.clone();
    let mut secrets = Vec::new();
    while !input.is_empty() && secrets.len() < 8 {
        let place = &told.places[usize::from(input.u16()) % told.places.len()];
        let stays = place.class == "harmless";
        let (text, seen) = secret(&mut input);
        let [before, after] = [0, 1].map(|_| match (input.byte(), stays) {
            (0, _) => String::new(),
            (byte, true) => BORDERS[usize::from(byte) % BORDERS.len()].to_owned(),
            (_, false) => input.text(),
        });
        let mut at = &mut record;
        for key in &place.path {
            at = match at {
                Value::Array(all) => &mut all[key.parse::<usize>().expect("a place")],
                other => &mut other[key.as_str()],
            };
        }
        *at = Value::String(format!("{before}{text}{after}"));
        secrets.push((seen.to_lowercase(), place));
    }
    let Ok(record) = serde_json::from_value::<RunRecord>(record) else {
        return;
    };
    let run = redacted(
        run.edited(|old| *old = record, |_| ()),
        vocabulary(),
        &mut [],
    );
    let shown = shown(&run, &told.directory, chosen);
    for (form, text) in shown {
        let text = text.to_lowercase();
        for (secret, place) in &secrets {
            let (path, class) = (place.path.join("."), &place.class);
            assert!(
                !text.contains(secret.as_str()),
                "{secret:?} of {path} ({class}) is left in {form}"
            );
        }
    }
}

/// What is shown of a run, without the directory that the user named.
fn shown(run: &Run, directory: &Path, chosen: u8) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    let record = serde_json::to_string(run.record()).expect("JSON");
    shown.push(("the record".to_owned(), record));
    for trial in &run.record().trials {
        if let Ok(data) = run.data(trial) {
            shown.push(("a table".to_owned(), format!("{:?}", data.tables)));
        }
    }
    // The record is what all forms are made of: one input in eight has one of them made.
    let form = chosen
        .is_multiple_of(8)
        .then(|| FORMS.get(usize::from(chosen) / 8 % (FORMS.len() + 1)));
    if let Some(form) = form
        && let Ok(data) = ReportData::gather(run, assess)
    {
        shown.push(("terminal".to_owned(), terminal(&data, 100, false)));
        if let Some((name, Make::Text(make))) = form.map(|form| (form.name, form.make)) {
            shown.push((name.to_owned(), make(&data)));
        }
    }
    let own = directory.display().to_string();
    shown
        .iter_mut()
        .for_each(|(_, text)| *text = text.replace(&own, ""));
    shown
}
