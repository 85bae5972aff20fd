//! A table of bounded size that forgets what was used least recently.

#[cfg(test)]
mod tests;

use std::collections::TryReserveError;
use std::hash::{BuildHasher, Hash, RandomState};

/// No entry.
/// Entries that are passed over at a time: a bounded number, whoever fills the table.
const PASSED_OVER: usize = 16;
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    /// How often the place was given to somebody else.
    tenancy: u32,
    /// In the same bucket.
    next: u32,
    older: u32,
    newer: u32,
}

/// A place of the table, and who had it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    index: u32,
    tenancy: u32,
}

/// All memory is reserved at the start; nothing allocates later. The hash is seeded, so that
/// strangers cannot choose keys that fall into one bucket.
#[derive(Debug)]
pub(crate) struct Table<K, V> {
    entries: Vec<Entry<K, V>>,
    buckets: Vec<u32>,
    most: usize,
    hash: RandomState,
    newest: u32,
    oldest: u32,
    evicted: u64,
}

impl<K: Copy + Eq + Hash, V> Table<K, V> {
    /// Room for `most` entries, at least one and fewer than 2^31.
    pub(crate) fn new(most: usize) -> Result<Self, TryReserveError> {
        let most = most.clamp(1, (1 << 31) - 1);
        let mut entries = Vec::new();
        entries.try_reserve_exact(most)?;
        let mut buckets = Vec::new();
        let count = most.next_power_of_two();
        buckets.try_reserve_exact(count)?;
        buckets.resize(count, NONE);
        Ok(Self {
            entries,
            buckets,
            most,
            hash: RandomState::new(),
            newest: NONE,
            oldest: NONE,
            evicted: 0,
        })
    }

    fn bucket(&self, key: &K) -> usize {
        // The lower bits alone are wanted.
        self.hash.hash_one(key) as usize & (self.buckets.len() - 1)
    }

    fn entry(&mut self, index: u32) -> &mut Entry<K, V> {
        &mut self.entries[index as usize]
    }

    /// Entries that were forgotten for others.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Bytes of the table's memory, which never change.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<K, V>>()
            + self.buckets.capacity() * size_of::<u32>()
    }

    /// The value at a place, unless somebody else has it by now.
    pub(crate) fn at(&mut self, place: Place) -> Option<&mut V> {
        let entry = self.entries.get_mut(place.index as usize)?;
        (entry.tenancy == place.tenancy).then_some(&mut entry.value)
    }

    /// Whether the key has an entry.
    pub(crate) fn has(&self, key: &K) -> bool {
        self.find(key).is_some()
    }

    /// The key's entry, found or made: from now on the one used last.
    pub(crate) fn enter(&mut self, key: K, make: impl FnOnce() -> V) -> (Place, &mut V) {
        self.enter_beside(key, make, |_| false)
    }

    /// The same, where some entries are to stay: a few of them are passed over for one that may be forgotten.
    pub(crate) fn enter_beside(
        &mut self,
        key: K,
        make: impl FnOnce() -> V,
        stays: impl Fn(&V) -> bool,
    ) -> (Place, &mut V) {
        let index = match self.find(&key) {
            Some(index) => {
                self.unlink(index);
                index
            }
            None => {
                self.pass_over(stays);
                self.place_for(key, make())
            }
        };
        self.link_as_newest(index);
        let entry = self.entry(index);
        let place = Place {
            index,
            tenancy: entry.tenancy,
        };
        (place, &mut entry.value)
    }

    fn find(&self, key: &K) -> Option<u32> {
        let mut index = self.buckets[self.bucket(key)];
        while index != NONE {
            let entry = &self.entries[index as usize];
            if entry.key == *key {
                return Some(index);
            }
            index = entry.next;
        }
        None
    }

    /// Makes the oldest one that may be forgotten, where one is near.
    fn pass_over(&mut self, stays: impl Fn(&V) -> bool) {
        if self.entries.len() < self.most {
            return;
        }
        for _ in 0..PASSED_OVER {
            let index = self.oldest;
            if !stays(&self.entry(index).value) {
                return;
            }
            self.unlink(index);
            self.link_as_newest(index);
        }
    }

    /// A place that is in its bucket, but not among those in the order of use.
    fn place_for(&mut self, key: K, value: V) -> u32 {
        let bucket = self.bucket(&key);
        let index = if self.entries.len() < self.most {
            self.entries.push(Entry {
                key,
                value,
                tenancy: 0,
                next: NONE,
                older: NONE,
                newer: NONE,
            });
            (self.entries.len() - 1) as u32
        } else {
            let index = self.oldest;
            self.leave_bucket(index);
            self.unlink(index);
            self.evicted += 1;
            let entry = self.entry(index);
            entry.key = key;
            entry.value = value;
            entry.tenancy = entry.tenancy.wrapping_add(1);
            index
        };
        self.entry(index).next = self.buckets[bucket];
        self.buckets[bucket] = index;
        index
    }

    fn leave_bucket(&mut self, index: u32) {
        let (key, next) = (self.entry(index).key, self.entry(index).next);
        let bucket = self.bucket(&key);
        if self.buckets[bucket] == index {
            self.buckets[bucket] = next;
            return;
        }
        let mut before = self.buckets[bucket];
        while self.entry(before).next != index {
            before = self.entry(before).next;
        }
        self.entry(before).next = next;
    }

    fn unlink(&mut self, index: u32) {
        let (older, newer) = (self.entry(index).older, self.entry(index).newer);
        match older {
            NONE => self.oldest = newer,
            older => self.entry(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entry(newer).older = older,
        }
    }

    fn link_as_newest(&mut self, index: u32) {
        let newest = self.newest;
        let entry = self.entry(index);
        (entry.older, entry.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = index,
            newest => self.entry(newest).newer = index,
        }
        self.newest = index;
    }
}
