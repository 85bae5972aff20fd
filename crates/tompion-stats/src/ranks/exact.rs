//! The exact distribution of Mann and Whitney's U without ties.

/// Most counts that are kept; 64 MiB.
const MOST_COUNTS: u64 = 1 << 22;

/// How many orders of two groups give each U, for the lower half of U (the upper
/// half mirrors it).
pub(super) struct ExactU {
    /// Orders with U <= u.
    cumulated: Vec<u128>,
    orders: u128,
    /// The largest U.
    most: u64,
}

impl ExactU {
    /// For groups of `n` and `m` values; `None` where there are more orders than
    /// 128 bits hold (about 60 and 60 values, or 8 and 10^5) or more U than are kept.
    pub(super) fn new(n: u64, m: u64) -> Option<Self> {
        let most = n.checked_mul(m)?;
        if most / 2 > MOST_COUNTS {
            return None;
        }
        let (few, many) = (n.min(m), n.max(m));
        let mut orders = 1u128;
        for i in 1..=few {
            orders = orders.checked_mul(u128::from(many + i))? / u128::from(i);
        }
        // The counts are the coefficients of the Gaussian binomial, the product
        // over i of (1 - q^(many + i)) / (1 - q^i) (Andrews, The Theory of
        // Partitions, 1976, chapter 3). Sums on the way may wrap; since the counts
        // themselves fit, they come out right modulo 2^128.
        let mut counts = vec![0u128; (most / 2 + 1) as usize];
        counts[0] = 1;
        for i in 1..=few as usize {
            for u in i..counts.len() {
                counts[u] = counts[u].wrapping_add(counts[u - i]);
            }
            let step = many as usize + i;
            for u in (step..counts.len()).rev() {
                counts[u] = counts[u].wrapping_sub(counts[u - step]);
            }
        }
        let mut sum = 0;
        for count in &mut counts {
            sum += *count;
            *count = sum;
        }
        Some(Self {
            cumulated: counts,
            orders,
            most,
        })
    }

    /// P(U <= u).
    pub(super) fn at_most(&self, u: u64) -> f64 {
        if u >= self.most {
            return 1.0;
        }
        let orders = match self.cumulated.get(u as usize) {
            Some(&orders) => orders,
            None => self.orders - self.below(self.most - u),
        };
        orders as f64 / self.orders as f64
    }

    /// P(U >= u).
    pub(super) fn at_least(&self, u: u64) -> f64 {
        if u > self.most {
            0.0
        } else {
            self.at_most(self.most - u)
        }
    }

    /// Orders with U < u, for u of the lower half.
    fn below(&self, u: u64) -> u128 {
        match u {
            0 => 0,
            _ => self.cumulated[u as usize - 1],
        }
    }

    /// The smallest u with P(U <= u) >= `tail`, for a tail of at most one half.
    pub(super) fn lower_quantile(&self, tail: f64) -> u64 {
        let few = |&c: &u128| (c as f64 / self.orders as f64) < tail;
        self.cumulated.partition_point(few) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each U comes up among all choices of n places in n + m.
    fn brute(n: u32, m: u32) -> Vec<u64> {
        let mut counts = vec![0; (n * m + 1) as usize];
        for places in 0u32..1 << (n + m) {
            if places.count_ones() == n {
                let (mut above, mut u) = (0, 0);
                for bit in 0..n + m {
                    if places >> bit & 1 == 1 {
                        u += above;
                    } else {
                        above += 1;
                    }
                }
                counts[u] += 1;
            }
        }
        counts
    }

    #[test]
    fn counts_are_those_of_all_orders() {
        for (n, m) in [(1, 1), (1, 5), (2, 3), (4, 4), (3, 7), (6, 5)] {
            let exact = ExactU::new(n.into(), m.into()).unwrap();
            let counts = brute(n, m);
            let all: u64 = counts.iter().sum();
            let mut seen = 0;
            for (u, count) in counts.iter().enumerate() {
                let upper = (all - seen) as f64 / all as f64;
                seen += count;
                let lower = seen as f64 / all as f64;
                assert!(
                    (exact.at_most(u as u64) - lower).abs() < 1e-15,
                    "{n} {m} {u}"
                );
                assert!(
                    (exact.at_least(u as u64) - upper).abs() < 1e-15,
                    "{n} {m} {u}"
                );
            }
        }
    }

    #[test]
    fn large_groups_add_up_to_all_orders() {
        for (n, m) in [(58, 57), (8, 100_000), (1, 1_000_000)] {
            let exact = ExactU::new(n, m).unwrap();
            let half = *exact.cumulated.last().unwrap();
            // The lower half, its mirror, and the middle counted twice if there is one.
            let middle = match n * m % 2 {
                0 => half - exact.below(n * m / 2),
                _ => 0,
            };
            assert_eq!(2 * half - middle, exact.orders, "{n} {m}");
        }
        assert!(ExactU::new(200, 200).is_none());
    }

    #[test]
    fn quantile_of_four_and_four() {
        let exact = ExactU::new(4, 4).unwrap();
        // Of 70 orders 1 has U = 0 and 1 has U = 1.
        assert_eq!(exact.lower_quantile(0.025), 1);
        assert_eq!(exact.lower_quantile(0.01), 0);
    }
}
