//! The least of several probes, as programs take it that look for the nearest of several hosts.

use crate::stamps::values::Values;

/// The smallest value of each `several` probes in a row, in nanoseconds; missing where none of them has one. Probes at
/// the end that are fewer than that are left out.
///
/// Whiteaker, Schneider and Teixeira (ACM SIGCOMM CCR 41(1), 2011) recommend it where a host disturbs single probes.
///
/// # Panics
/// Where `several` is 0.
pub fn least_of(values: &Values, several: usize) -> Values {
    let all: Vec<Option<i64>> = values.iter().collect();
    let groups = all.chunks_exact(several);
    groups
        .map(|group| group.iter().flatten().min().copied())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_groups_in_a_row_have_one_each() {
        let values: Values = [Some(5), Some(3), None, None, Some(9), Some(7), Some(1)]
            .into_iter()
            .collect();
        let least = |several| least_of(&values, several).iter().collect::<Vec<_>>();
        assert_eq!(least(2), [Some(3), None, Some(7)]);
        assert_eq!(least(3), [Some(3), Some(7)]);
        assert_eq!(least(1), values.iter().collect::<Vec<_>>());
        assert_eq!(least(8), []);
    }
}
