//! Whether the colours of the style sheet can be told apart, also by those who see fewer
//! of them. Only for tests.

use super::STYLE;

/// What an eye makes of linear red, green and blue: usual sight, then protanopia,
/// deuteranopia and tritanopia by Machado, Oliveira, Fernandes 2009, table 1 (severity 1).
const SIGHTS: [(&str, [[f64; 3]; 3]); 4] = [
    ("usual", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// sRGB and D65 after IEC 61966-2-1.
const XYZ: [[f64; 3]; 3] = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
];
const WHITE: [f64; 3] = [0.95047, 1.0, 1.08883];

fn times(m: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    m.map(|row| (0..3).map(|i| row[i] * v[i]).sum())
}

/// Linear red, green and blue of `#rrggbb`.
fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        match c {
            c if c <= 0.04045 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        }
    })
}

/// CIE 1976 L*a*b*, in which a distance of 2 is just seen side by side.
fn lab(rgb: [f64; 3]) -> [f64; 3] {
    let xyz = times(&XYZ, rgb.map(|c| c.clamp(0.0, 1.0)));
    let [x, y, z] = [0, 1, 2].map(|i| match xyz[i] / WHITE[i] {
        t if t > 0.008856 => t.cbrt(),
        t => 7.787 * t + 16.0 / 116.0,
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// A variable of the light or the dark page.
fn variable(name: &str, dark: bool) -> &'static str {
    let value = STYLE
        .split(&format!("--{name}: "))
        .nth(1 + usize::from(dark));
    &value.unwrap()[..7]
}

#[test]
fn any_two_hues_differ_to_every_eye() {
    for dark in [false, true] {
        let hues = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| variable(&format!("c{i}"), dark));
        for (sight, matrix) in &SIGHTS {
            let seen = hues.map(|h| lab(times(matrix, linear(h))));
            for (i, a) in seen.iter().enumerate() {
                for (j, b) in seen.iter().enumerate().take(i) {
                    let far: f64 = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
                    assert!(
                        far > 14.0,
                        "{sight}, dark {dark}: c{j} and c{i} are {far:.1} apart"
                    );
                }
            }
        }
    }
}

/// WCAG 2.1, success criterion 1.4.11: graphical objects need 3:1.
#[test]
fn every_hue_stands_out_from_its_card() {
    for dark in [false, true] {
        let luminance = |hex| times(&XYZ, linear(hex))[1];
        let card = luminance(variable("card", dark));
        for i in 0..8 {
            let hue = luminance(variable(&format!("c{i}"), dark));
            let contrast = (hue.max(card) + 0.05) / (hue.min(card) + 0.05);
            assert!(contrast > 2.9, "dark {dark}: c{i} has {contrast:.2}:1");
        }
    }
}
