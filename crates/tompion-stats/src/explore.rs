use crate::test_noise::*;
use crate::*;

#[derive(Clone, Copy, Debug)]
struct P;
fn cmp(a: &[i64], b: &[i64], q: f64, _p: P, ws: &mut Vec<f64>, ks: &mut Vec<f64>) -> usize {
    let c = compare_series(a, b, q, 0.05, 1).unwrap();
    match c.outcome {
        Outcome::Decided(d) => {
            ws.push(c.widening);
            ks.push(c.stretches.0 as f64);
            usize::from(d.p > 0.05)
        }
        _ => 2,
    }
}
fn pink(r: &mut Noise, n: usize, top: usize, white: f64) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for i in 0..top {
        let t = 4f64.powi(i as i32);
        let phi = (-1.0 / t).exp();
        for (o, v) in out.iter_mut().zip(autoregressive(r, n, phi)) {
            *o += v;
        }
    }
    for o in out.iter_mut() {
        *o += white * r.normal();
    }
    out
}
fn ints(v: &[f64]) -> Vec<i64> {
    v.iter().map(|x| (x * 1e6) as i64).collect()
}
fn load(f: &str) -> Vec<i64> {
    std::fs::read(f)
        .unwrap()
        .chunks_exact(8)
        .map(|c| i64::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

#[test]
#[ignore]
fn null() {
    let rounds: u64 = std::env::var("R").ok().map_or(300, |v| v.parse().unwrap());
    let which = std::env::var("W").unwrap_or("ar,pink,rec".into());
    let params = [P];
    let report = |name: &str, cases: &[(Vec<i64>, Vec<i64>)], q: f64| {
        for p in &params {
            let (mut ws, mut ks) = (vec![], vec![]);
            let mut c = [0; 4];
            for (a, b) in cases {
                c[cmp(a, b, q, *p, &mut ws, &mut ks)] += 1;
            }
            let n = cases.len() as f64;
            let m = |v: &Vec<f64>| v.iter().sum::<f64>() / v.len().max(1) as f64;
            println!(
                "X {name:22} q{q} {:?}: reject {:.3} of all, short {:.3} drift {:.3}; w {:.2} k {:.1}",
                (),
                c[0] as f64 / n,
                c[2] as f64 / n,
                c[3] as f64 / n,
                m(&ws),
                m(&ks)
            );
        }
    };
    if which.contains("ar") {
        for (phi, n) in [(0.9, 1000), (0.9, 2000), (0.9, 5000)] {
            let cases: Vec<_> = (0..rounds)
                .map(|s| {
                    let v = ints(&autoregressive(&mut Noise::new(s), 3 * n, phi));
                    let g = (s as usize * 7919) % n;
                    (v[..n].to_vec(), v[n + g..2 * n + g].to_vec())
                })
                .collect();
            for q in [0.5, 0.9] {
                report(&format!("ar{phi} n{n}"), &cases, q);
            }
            for sh in [0.3] {
                let c2: Vec<_> = cases
                    .iter()
                    .map(|(a, b)| (a.clone(), b.iter().map(|x| x + (sh * 1e6) as i64).collect()))
                    .collect();
                report(&format!("ar{phi} n{n} shift{sh}"), &c2, 0.5);
            }
        }
    }
    if which.contains("pink") {
        for (top, white) in [(5, 0.0), (7, 1.0), (9, 1.0), (9, 3.0)] {
            let n = 5000;
            let cases: Vec<_> = (0..rounds)
                .map(|s| {
                    let v = ints(&pink(&mut Noise::new(s), 3 * n, top, white));
                    let g = (s as usize * 7919) % n;
                    (v[..n].to_vec(), v[n + g..2 * n + g].to_vec())
                })
                .collect();
            report(&format!("pink{top} w{white} n{n}"), &cases, 0.5);
        }
    }
    if which.contains("rec") {
        for f in std::env::var("F")
            .unwrap_or_default()
            .split(',')
            .filter(|f| !f.is_empty())
        {
            let v = load(f);
            for share in [0.1, 0.2, 0.4] {
                let n = (v.len() as f64 * share) as usize;
                let mut r = Noise::new(1);
                let cases: Vec<_> = (0..rounds)
                    .map(|_| {
                        let slack = (v.len() - 2 * n) as f64;
                        let (mut x, mut y) = (r.uniform() * slack, r.uniform() * slack);
                        if x > y {
                            std::mem::swap(&mut x, &mut y);
                        }
                        let (x, y) = (x as usize, y as usize + n);
                        (v[x..x + n].to_vec(), v[y..y + n].to_vec())
                    })
                    .collect();
                for q in [0.5, 0.9, 0.99] {
                    report(
                        &format!("{} n{n}", f.rsplit('/').next().unwrap()),
                        &cases,
                        q,
                    );
                }
            }
        }
    }
}
