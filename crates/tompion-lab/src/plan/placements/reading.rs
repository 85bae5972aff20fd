//! Reading `[[placements]]`: every mistake with its place.

use std::collections::BTreeSet;
use std::ops::Range;

use tompion_model::{InvalidValue, nearest};

use crate::plan::short_loads::load;

use super::{GuestPlan, Pinning, PlacementPlan, Role};
use crate::plan::scenarios::{SCENARIOS, Scenario};
use tompion_platforms::groups::Scheduling;
use tompion_platforms::keys::{CPUS_WANTED, Table, cpus};

/// Loads of the plan that are told to whoever names another.
const TOLD: usize = 20;
/// More guests than this are a typing error rather than a wish.
const MOST: u64 = 100;

impl PlacementPlan {
    /// Reads `[[placements]]`.
    /// `known` are the levels of the plan's loads.
    pub(in crate::plan) fn read(table: Table<'_, '_>, known: &BTreeSet<String>) -> Option<Self> {
        let name = table.text("name");
        let names: Vec<&str> = SCENARIOS.iter().map(|s| s.name).collect();
        let scenario = table.read("scenario", |value| {
            let text = value.as_str().unwrap_or_default();
            Scenario::find(text).ok_or_else(|| match nearest(text, names.iter().copied()) {
                Some(better) => {
                    format!("no scenario is called `{text}`; did you mean `{better}`?")
                }
                None => format!(
                    "no scenario is called `{text}`; there are {}",
                    names.join(", ")
                ),
            })
        });
        let pinning = table.read("pinning", |value| {
            let text = value.as_str().unwrap_or_default();
            let found = Pinning::NAMES.iter().find(|(name, _)| *name == text);
            let known = Pinning::NAMES.map(|(name, _)| name).join(", ");
            found
                .map(|(_, p)| *p)
                .ok_or_else(|| format!("there are {known}"))
        });
        let cpus = table.read("cpus", |value| {
            cpus(value.as_str().unwrap_or_default()).ok_or_else(|| CPUS_WANTED.to_owned())
        });
        let host_load = table.read("host_load", |value| load(value.as_str()));
        let guests = table.has("guests").then(|| {
            let tables = table.tables("guests", "guest");
            tables.into_iter().filter_map(guest).collect::<Vec<_>>()
        });
        let inner = |key| {
            let table = table.table(key, "set of scheduler settings")?;
            let read = Scheduling::read(&table);
            table.finish();
            Some(read)
        };
        let (measure, together) = (inner("measure"), inner("together"));
        let all = together.as_ref().map_or(1.0, Scheduling::share_of_cpu);
        let too_much = |own: &Scheduling| own.quota_us.is_some() && own.share_of_cpu() > all;
        if measure.as_ref().is_some_and(too_much) {
            table.wrong(table.at_key("measure"), MORE_THAN_ALL);
        }
        let guests_have = guests.iter().flatten().map(|guest| &guest.scheduling);
        if guests_have.into_iter().any(too_much) {
            table.wrong(table.at_key("guests"), MORE_THAN_ALL);
        }
        let some: Vec<&str> = known.iter().take(TOLD).map(String::as_str).collect();
        let some = some.join(", ");
        let more = if known.len() > TOLD { ", ..." } else { "" };
        let loads = table.list("loads", |text| {
            let own = load(Some(text))?;
            match known.contains(&own.level()) {
                true => Ok(own),
                false => Err(InvalidValue::from(format!(
                    "the plan has no load `{text}`; it has {some}{more}"
                ))),
            }
        });
        let at = table.at();
        let usual = scenario.map(Scenario::placement);
        let name = name.or_else(|| scenario.map(|s| s.name.to_owned()));
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name = match name {
            Some(name) if !name.is_empty() && name.chars().all(fits) => name,
            Some(_) => {
                let text = "name: a name of letters, digits, `-`, `_` and `.` is wanted";
                table.wrong(table.at_key("name"), text);
                return None;
            }
            None => {
                table.wrong(at, "a placement needs a name, or a scenario that has one");
                return None;
            }
        };
        let usual = usual.unwrap_or_else(Self::alone);
        let place = table.place();
        table.finish();
        Some(Self {
            name,
            scenario: scenario.map(|s| s.name),
            pinning: pinning.unwrap_or(usual.pinning),
            cpus,
            host_load,
            together: together.unwrap_or_default(),
            measure: measure.unwrap_or_default(),
            guests: guests.unwrap_or(usual.guests),
            loads,
            at: Some(place),
        })
    }
}

/// The kernel refuses a group whose quota is a larger part than its parent's.
const MORE_THAN_ALL: &str =
    "a guest's quota is more of a CPU than `together` has: at most the same part is possible";

fn guest(table: Table<'_, '_>) -> Option<GuestPlan> {
    let role = table.read("role", |value| match value.as_str() {
        Some(role @ ("load" | "idle" | "measure")) => Ok(role.to_owned()),
        _ => Err("there are \"load\", \"idle\" and \"measure\"".to_owned()),
    });
    let load = table.read("load", |value| load(value.as_str()));
    let count = table.number("count", 1..MOST + 1).unwrap_or(1);
    let scheduling = Scheduling::read(&table);
    let wrong = |at: Range<usize>, text: &str| {
        table.wrong(at, text);
        None
    };
    let role = match (role.as_deref(), load, table.has("load")) {
        (Some("idle"), _, true) => {
            return wrong(table.at_key("load"), "an idle guest has no load");
        }
        (Some("measure"), _, true) => {
            let text = "a guest that measures has the loads of the plan, and none of its own";
            return wrong(table.at_key("load"), text);
        }
        (Some("load"), None, false) => {
            return wrong(
                table.at(),
                "a guest with the role load needs one: load = \"cpu:1\"",
            );
        }
        (None, _, _) if !table.has("role") => {
            let text = "a guest needs a role: \"load\", \"idle\" or \"measure\"";
            return wrong(table.at(), text);
        }
        (Some("load"), Some(load), _) if load.is_idle() => {
            return wrong(
                table.at_key("load"),
                "load: idle is none; write role = \"idle\"",
            );
        }
        (Some("measure"), ..) => Role::Measure,
        (_, load, _) => load.map_or(Role::Idle, Role::Load),
    };
    table.finish();
    Some(GuestPlan {
        role,
        count: count as usize,
        scheduling,
    })
}
