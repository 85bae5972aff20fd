//! Answers requests for rank statistics, one JSON object a line on standard input,
//! with one JSON object a line: what the acceptance tests hold against SciPy,
//! scikit-posthocs and R. A request that is refused gives `{"error": ...}`.

use std::io::BufRead;

use serde_json::{Value, json};
use tompion_stats::{
    Adjustment, Distribution, FactorTable, Factorial, Interval, NullMethod, PairComparison,
    PooledRanks, StudentizedRange, Tail, aligned_rank_transform, dunn, epsilon_squared_interval,
    kruskal_wallis, mann_whitney, scheirer_ray_hare, shift, superiority, tukey_on_ranks,
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = answer(&request).unwrap_or_else(|e| json!({ "error": e.to_string() }));
        println!("{answer}");
    }
    Ok(())
}

fn answer(request: &Value) -> Result<Value, Failure> {
    Ok(match text(request, "do")? {
        "summary" => summary(&groups(request)?[0]),
        "kruskal" => {
            let groups = groups(request)?;
            let found = kruskal_wallis(&PooledRanks::of(&groups)?);
            let refs: Vec<&Distribution> = groups.iter().collect();
            let interval = match request["resamples"].as_u64() {
                Some(n) => Some(epsilon_squared_interval(&refs, 0.95, n as usize, 1)?),
                None => None,
            };
            json!({
                "h": found.h, "df": found.df, "p": found.p,
                "epsilon_squared": found.epsilon_squared,
                "interval": interval.map(ends), "ties_share": found.ties_share,
            })
        }
        "dunn" => {
            let ranks = PooledRanks::of(&groups(request)?)?;
            pairs(&dunn(&ranks, adjustment(request)?))
        }
        "tukey" => pairs(&tukey_on_ranks(&PooledRanks::of(&groups(request)?)?)?),
        "adjust" => json!(adjustment(request)?.apply(&numbers(request, "p")?)),
        "mann-whitney" => {
            let groups = groups(request)?;
            let tail = match text(request, "tail")? {
                "two-sided" => Tail::TwoSided,
                "greater" => Tail::Greater,
                _ => Tail::Less,
            };
            let method = match text(request, "method")? {
                "auto" => NullMethod::Auto,
                "exact" => NullMethod::Exact,
                _ => NullMethod::Normal,
            };
            let found = mann_whitney(&groups[0], &groups[1], tail, method)?;
            json!({ "u": found.u, "p": found.p, "exact": found.exact })
        }
        "effect" => {
            let groups = groups(request)?;
            let level = request["level"].as_f64().unwrap_or(0.95);
            let a = superiority(&groups[0], &groups[1], level)?;
            let by = shift(&groups[0], &groups[1], level)?;
            json!({
                "a": a.a, "cliffs_delta": a.cliffs_delta(), "interval": ends(a.interval),
                "method": format!("{:?}", a.method), "shift": by.shift,
                "shift_interval": by.interval.map(ends), "exact": by.exact,
            })
        }
        "studentized-range" => {
            // JSON has no infinity.
            let df = request["df"].as_f64().unwrap_or(f64::INFINITY);
            let groups = request["groups"].as_u64().ok_or("groups: a number")? as u32;
            let range = StudentizedRange::new(groups, df);
            let q = numbers(request, "q")?;
            let p = numbers(request, "p")?;
            json!({
                "lower": q.iter().map(|&q| range.lower(q)).collect::<Vec<_>>(),
                "upper": q.iter().map(|&q| range.upper(q)).collect::<Vec<_>>(),
                "upper_quantile": p.iter().map(|&p| range.upper_quantile(p)).collect::<Vec<_>>(),
            })
        }
        "aligned-ranks" => factorial(&aligned_rank_transform(&table(request)?)),
        "scheirer-ray-hare" => factorial(&scheirer_ray_hare(&table(request)?)),
        other => return Err(format!("no such request: {other}").into()),
    })
}

fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, Failure> {
    Ok(request[key]
        .as_str()
        .ok_or(format!("{key}: a text is wanted"))?)
}

fn numbers(request: &Value, key: &str) -> Result<Vec<f64>, Failure> {
    let list = request[key]
        .as_array()
        .ok_or(format!("{key}: a list is wanted"))?;
    list.iter()
        .map(|v| Ok(v.as_f64().ok_or(format!("{key}: not a number: {v}"))?))
        .collect()
}

fn groups(request: &Value) -> Result<Vec<Distribution>, Failure> {
    let lists = request["groups"]
        .as_array()
        .ok_or("groups: a list of lists is wanted")?;
    lists
        .iter()
        .map(|list| {
            let list = list.as_array().ok_or("a group is a list")?;
            let values: Option<Vec<i64>> = list.iter().map(Value::as_i64).collect();
            Ok(Distribution::from_slice(
                &values.ok_or("values are whole numbers")?,
            ))
        })
        .collect()
}

fn adjustment(request: &Value) -> Result<Adjustment, Failure> {
    Ok(match text(request, "adjustment")? {
        "none" => Adjustment::None,
        "bonferroni" => Adjustment::Bonferroni,
        "holm" => Adjustment::Holm,
        "benjamini-hochberg" => Adjustment::BenjaminiHochberg,
        other => return Err(format!("no such adjustment: {other}").into()),
    })
}

fn table(request: &Value) -> Result<FactorTable, Failure> {
    let names: Vec<String> = serde_json::from_value(request["factors"].clone())?;
    let rows: Vec<(Vec<String>, f64)> = serde_json::from_value(request["rows"].clone())?;
    Ok(FactorTable::new(&names, rows)?)
}

fn summary(d: &Distribution) -> Value {
    let quantiles = [0.5, 0.9, 0.99, 0.999].map(|q| d.quantile(q));
    let (values, shares): (Vec<i64>, Vec<f64>) = d.ccdf().unzip();
    json!({
        "count": d.len(), "mean": d.mean(), "sd": d.standard_deviation(),
        "quantiles": quantiles, "ccdf_values": values, "ccdf_shares": shares,
    })
}

fn ends(i: Interval) -> [f64; 2] {
    [i.low, i.high]
}

fn pairs(found: &[PairComparison]) -> Value {
    let one = |c: &PairComparison| {
        json!({
            "pair": [c.first, c.second], "difference": c.mean_rank_difference,
            "statistic": c.statistic, "p": c.p, "p_adjusted": c.p_adjusted,
        })
    };
    found.iter().map(one).collect()
}

fn factorial(found: &Factorial) -> Value {
    let effects = found.effects.iter().map(|e| {
        let figures = json!({
            "sum_of_squares": e.sum_of_squares, "df": e.df, "statistic": e.statistic,
            "p": e.p, "error_sum_of_squares": e.error_sum_of_squares, "error_df": e.error_df,
        });
        (e.name(), figures)
    });
    json!({
        "effects": effects.collect::<serde_json::Map<_, _>>(),
        "untested": found.assumptions.untested,
        "ties_share": found.assumptions.ties_share,
        "largest_aligned_f": found.assumptions.largest_aligned_f,
        "sentences": found.assumptions.to_string(),
    })
}
