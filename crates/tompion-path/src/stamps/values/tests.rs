use super::*;

fn values(all: &[Option<i64>]) -> Values {
    all.iter().copied().collect()
}

#[test]
fn missing_values_are_counted_and_left_out() {
    let values = values(&[Some(3), None, Some(-1), Some(i64::MIN)]);
    assert_eq!(
        (values.len(), values.missing(), values.min()),
        (4, 2, Some(-1))
    );
    assert_eq!(
        values.iter().collect::<Vec<_>>(),
        [Some(3), None, Some(-1), None]
    );
    assert_eq!(values.distribution().pairs(), [(-1, 1), (3, 1)]);
    assert_eq!((values.get(3), values.get(4)), (None, None));
}

#[test]
fn a_difference_needs_both_and_has_to_fit() {
    let first = values(&[Some(5), Some(5), None, Some(i64::MAX), Some(1)]);
    let second = values(&[Some(7), None, Some(7), Some(-1)]);
    let difference: Vec<_> = first.minus(&second).iter().collect();
    assert_eq!(difference, [Some(-2), None, None, None, None]);
}
