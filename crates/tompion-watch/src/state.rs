//! What the view knows.

use std::collections::VecDeque;
use std::time::Duration;

use tompion_model::Synchronisation;

use crate::slice::add_cause;
use crate::worst::{MOST, longest};
use crate::{Case, CauseLost, Choices, Setting, Slice, Spread, StallSlice};

/// What is shown reaches back this far.
pub const WINDOW: Duration = Duration::from_secs(300);

/// Readings of the machine that are kept: more than [`WINDOW`] holds at one a second.
const READINGS: usize = 400;

/// Slices that are kept: more than [`WINDOW`] holds at four a second.
const SLICES: usize = 1500;

/// A reading of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// When it was taken, since the run began.
    pub at: Duration,
    /// The kernel's clocksource.
    pub clocksource: Option<String>,
    /// Whether the clock is kept right, and by how much it is off.
    pub synchronisation: Option<Synchronisation>,
    /// Time that the hypervisor took from all CPUs since the machine started, in any unit;
    /// absent where it is not told.
    pub stolen: Option<u64>,
    /// Time of all CPUs together since the machine started, in the same unit.
    pub cpu_time: u64,
    /// How long a CPU quota held this process's group up since the run began, in
    /// nanoseconds; absent without a quota.
    pub throttled_ns: Option<u64>,
}

/// What Tompion itself takes, as shares of one CPU, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Drawing and reading keys.
    pub drawing: f64,
    /// Watching for causes.
    pub observing: f64,
}

/// Everything that is shown.
#[derive(Clone, Debug)]
pub struct State {
    choices: Choices,
    setting: Setting,
    began_unix: Duration,
    now: Duration,
    paused: bool,
    help: bool,
    message: Option<String>,
    slices: VecDeque<Slice>,
    stalls: VecDeque<StallSlice>,
    worst: Vec<Case>,
    vitals: VecDeque<Vitals>,
    steal_is_accounted: Option<bool>,
    cost: Cost,
}

impl State {
    /// Nothing seen yet. The run began `began_unix` after 1970 (UTC).
    pub fn new(choices: Choices, setting: Setting, began_unix: Duration) -> Self {
        Self {
            choices,
            setting,
            began_unix,
            now: Duration::ZERO,
            paused: false,
            help: false,
            message: None,
            slices: VecDeque::new(),
            stalls: VecDeque::new(),
            worst: Vec::new(),
            vitals: VecDeque::new(),
            steal_is_accounted: None,
            cost: Cost::default(),
        }
    }

    /// Time has passed, since the run began.
    pub fn tick(&mut self, now: Duration) {
        self.now = now;
        let oldest = now.saturating_sub(WINDOW);
        // Short of the window's edge, so that the plot's first column stays filled.
        while self.slices.front().is_some_and(|s| s.at < oldest) || self.slices.len() > SLICES {
            self.slices.pop_front();
        }
        while self.stalls.front().is_some_and(|s| s.at < oldest) || self.stalls.len() > SLICES {
            self.stalls.pop_front();
        }
        while self.vitals.len() > 2 && (self.vitals[0].at < oldest || self.vitals.len() > READINGS)
        {
            self.vitals.pop_front();
        }
    }

    /// Takes a slice of wake-ups.
    pub fn wake_up(&mut self, mut slice: Slice) {
        self.late(std::mem::take(&mut slice.worst));
        self.slices.push_back(slice);
    }

    /// Takes a slice of a busy loop.
    pub fn stalled(&mut self, mut slice: StallSlice) {
        self.late(std::mem::take(&mut slice.worst));
        self.stalls.push_back(slice);
    }

    fn late(&mut self, cases: Vec<Case>) {
        let all = std::mem::take(&mut self.worst).into_iter().chain(cases);
        self.worst = longest(all, MOST);
    }

    /// Takes a reading of the machine.
    pub fn read(&mut self, vitals: Vitals) {
        self.vitals.push_back(vitals);
    }

    /// Whether the hypervisor accounts for the time it takes.
    pub fn steal_is_accounted(&mut self, is_accounted: bool) {
        self.steal_is_accounted = Some(is_accounted);
    }

    /// What Tompion takes by now.
    pub fn costs(&mut self, cost: Cost) {
        self.cost = cost;
    }

    /// Shows a line until something else is chosen.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = Some(message.into());
    }

    /// Stops or goes on.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
        if !paused {
            self.message = None;
        }
    }

    /// Forgets what was seen.
    pub fn reset(&mut self) {
        self.slices.clear();
        self.stalls.clear();
        self.worst.clear();
        let last = self.vitals.pop_back();
        self.vitals = last.into_iter().collect();
    }

    pub(crate) fn show_help(&mut self, shows: bool) {
        self.help = shows;
    }

    pub(crate) fn choose(&mut self, setting: Setting) {
        self.setting = setting;
        self.message = None;
    }

    /// What is chosen.
    pub fn setting(&self) -> Setting {
        self.setting
    }

    /// What there is to choose from.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Whether nothing is to be measured now.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn shows_help(&self) -> bool {
        self.help
    }

    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    pub(crate) fn cost(&self) -> Cost {
        self.cost
    }

    pub(crate) fn vitals(&self) -> Option<&Vitals> {
        self.vitals.back()
    }

    pub(crate) fn is_steal_accounted(&self) -> Option<bool> {
        self.steal_is_accounted
    }

    /// The slices of wake-ups within the window, oldest first.
    pub fn slices(&self) -> impl DoubleEndedIterator<Item = &Slice> {
        self.slices.iter()
    }

    /// Slices of what is chosen now, since it was chosen.
    fn present(&self) -> impl Iterator<Item = &Slice> {
        let setting = self.setting;
        let is_present = move |s: &&Slice| s.setting == setting;
        self.slices.iter().rev().take_while(is_present)
    }

    /// The latest slice of what is chosen now.
    pub fn latest(&self) -> Option<&Slice> {
        self.present().next()
    }

    /// All latencies of what is chosen now, since it was chosen.
    pub(crate) fn spread(&self) -> Spread {
        let mut all = Spread::default();
        self.present().for_each(|s| all.merge(&s.spread));
        all
    }

    /// Samples of what is chosen now, since it was chosen.
    pub(crate) fn samples(&self) -> u64 {
        self.present().map(|s| s.samples).sum()
    }

    /// The longest cases since the beginning or the last reset, longest first.
    pub fn worst(&self) -> &[Case] {
        &self.worst
    }

    /// How long busy loops ran within the window, in nanoseconds, and what they lost by
    /// cause, the most first.
    pub fn lost(&self) -> (u64, Vec<CauseLost>) {
        let mut causes = Vec::new();
        for slice in &self.stalls {
            slice.causes.iter().for_each(|c| add_cause(&mut causes, c));
        }
        causes.sort_by_key(|c| std::cmp::Reverse(c.ns));
        (self.stalls.iter().map(|s| s.wall_ns).sum(), causes)
    }

    /// The share of all CPUs' time that was stolen, 0 to 1, lately and over the window;
    /// nothing where it is not told.
    pub(crate) fn steal(&self) -> Option<(f64, f64)> {
        /// Steal is counted in steps of 10 ms: a share of less than this says nothing.
        const LATELY: Duration = Duration::from_secs(5);
        let last = self.vitals.back()?;
        let since = |first: &Vitals| {
            let stolen = last.stolen?.saturating_sub(first.stolen?);
            let all = last.cpu_time.saturating_sub(first.cpu_time);
            (all > 0).then(|| stolen as f64 / all as f64)
        };
        let lately = last.at.saturating_sub(LATELY);
        let recent = self.vitals.iter().find(|v| v.at >= lately)?;
        let window = since(self.vitals.front()?)?;
        Some((since(recent).unwrap_or(window), window))
    }

    /// A moment of the run as the time of day in UTC.
    pub(crate) fn time_of_day(&self, at: Duration) -> String {
        let seconds = (self.began_unix + at).as_secs() % 86_400;
        let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
        format!("{hour:02}:{minute:02}:{:02}", seconds % 60)
    }
}

#[cfg(test)]
mod tests;
