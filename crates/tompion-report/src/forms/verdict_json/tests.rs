use super::*;

/// An answer about so many uses under so many loads, each with a name of so many letters.
fn answer(uses: usize, loads: usize, letters: usize) -> VerdictJson {
    let long = |what: &str| what.repeat(letters / what.len() + 1);
    let under = |i: usize| LoadVerdict {
        load: format!("{i}{}", long("\u{65e5}")),
        outcome: Outcome::ALL[i % Outcome::ALL.len()],
        estimate_ns: 123_456.789,
        limit_ns: 1e6,
        samples: 1_000_000,
        watched_ns: 1_000_000_000,
        ..LoadVerdict::default()
    };
    let all: Vec<LoadVerdict> = (0..loads).map(under).collect();
    let of_use = |i| UseJson {
        name: name(&format!("{i}{}", long("use"))),
        place: Some(name(&long("place"))),
        requires: shortened_to(&long("requirement"), 2 * NAME),
        outcome: "fail",
        as_it_is: "fail",
        by_load: all.iter().map(UnderJson::of).collect(),
    };
    VerdictJson {
        kind: "tompion-verdict",
        schema_version: VERSION,
        run_id: Some(name(&long("id"))),
        tool: name(&long("tool")),
        started_at: name(&long("then")),
        complete: true,
        trusted: "NOT KNOWN",
        why: sentence(&long("\u{65e5}")),
        cause: sentence(&long("\"")),
        parts: Vec::new(),
        steps: (0..MOST_STEPS)
            .map(|_| StepJson {
                what: shortened_to(&long("step"), 4 * NAME),
                effect: shortened_to(&long("\u{65e5}"), 4 * NAME),
            })
            .collect(),
        uses: (0..uses).map(of_use).collect(),
        uses_left_out: 0,
        loads_left_out: 0,
        lateness: None,
    }
}

#[test]
fn whatever_is_called_how_it_is_below_ten_kilobytes() {
    for (uses, loads, letters) in [
        (13, 3, 8),
        (40, 16, 8),
        (40, 16, 2000),
        (1, 16, 2000),
        (40, 0, 2000),
        (0, 0, 2000),
    ] {
        let text = answer(uses, loads, letters).text();
        assert!(
            text.len() < MOST_BYTES,
            "{uses} {loads} {letters}: {}",
            text.len()
        );
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        let shown = told["uses"].as_array().unwrap();
        assert_eq!(
            shown.len() as u64 + told["uses_left_out"].as_u64().unwrap(),
            uses as u64
        );
        // The worst loads are those that stay.
        if let Some(first) = shown.first().filter(|_| loads > 0) {
            let by_load = first["by_load"].as_array().unwrap();
            assert!(
                by_load.iter().any(|l| l["outcome"] == "fail") || loads < 6,
                "{first}"
            );
            let left_out = told["loads_left_out"].as_u64().unwrap();
            assert_eq!(by_load.len() as u64 + left_out, loads as u64);
        }
    }
}

#[test]
fn what_is_shortened_bears_a_mark() {
    let told = answer(1, 1, 2000);
    for text in [
        &told.tool,
        &told.why,
        &told.uses[0].name,
        &told.uses[0].by_load[0].load,
    ] {
        assert!(text.ends_with(" ..."), "{text}");
    }
    let whole = answer(1, 1, 8);
    assert_eq!(whole.tool, "tooltooltool");
}

#[test]
fn the_worst_are_kept_in_their_order() {
    let all = answer(1, 12, 1);
    let mut of_use = all.uses.into_iter().next().unwrap();
    of_use.keep(3);
    let kept: Vec<&str> = of_use.by_load.iter().map(|l| l.outcome).collect();
    assert_eq!(kept, ["not-measured", "fail", "fail"]);
}
