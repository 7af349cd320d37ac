//! An answer, for programs.

use probes::envelope::{Schedule, Term, accumulator};
use reports::verdict::ExitCode;
use serde_json::{Value, json};

use super::answer::{Account, Answer, Shown, Untold};

/// The whole answer.
pub fn wire(answer: &Answer, code: ExitCode) -> Value {
    let roundings = &answer.settings.roundings;
    let accounts = answer
        .accounts
        .iter()
        .zip(roundings)
        .flat_map(|(accounts, rounding)| {
            let words = accumulator(*rounding);
            let sides = accounts.iter().zip(&answer.sides);
            sides.map(move |(account, side)| explained(answer, account, side, words))
        });
    json!({
        "schema_version": 1,
        "name": answer.name,
        "sums": answer.count,
        "all_outputs": answer.complete,
        "terms": answer.terms,
        "leaves": format!("{:?}", answer.settings.leaves).to_lowercase(),
        "fused": format!("{:?}", answer.settings.fusion).to_lowercase(),
        "start": format!("{:?}", answer.settings.start).to_lowercase(),
        "stated": answer.stated.as_ref().map(Schedule::to_string),
        "revealed": answer.told.iter().map(|told| json!({
            "side": told.side,
            "schedule": told.schedule.as_ref().ok().map(Schedule::to_string),
            "not_told": told.schedule.as_ref().err().map(|reason| format!("failed to {reason}")),
        })).collect::<Vec<_>>(),
        "shown": answer.shown.iter().map(|sum| shown(answer, sum)).collect::<Vec<_>>(),
        "explanations": accounts.collect::<Vec<_>>(),
        "exit_code": code.code(),
    })
}

/// That there is none.
pub fn untold(reason: &Untold, code: ExitCode) -> Value {
    json!({
        "schema_version": 1,
        "not_told": format!("failed to {reason}"),
        "exit_code": code.code(),
    })
}

fn shown(answer: &Answer, sum: &Shown) -> Value {
    let observed = answer.sides.iter().zip(&sum.asked.observed);
    let observed = observed.map(|(side, &x)| (side.clone(), number(x)));
    let envelopes = sum.envelopes.iter().zip(&answer.settings.roundings);
    let envelopes = envelopes.map(|((interval, set), rounding)| {
        let finite = |x: f64| x.is_finite().then_some(x);
        json!({
            "accumulator": accumulator(*rounding),
            "exact": finite(interval.exact),
            "condition": finite(interval.condition),
            "low": finite(interval.low),
            "high": finite(interval.high),
            "reachable": set.as_ref().ok().map(|set| {
                set.values().iter().map(|&x| number(x)).collect::<Vec<_>>()
            }),
            "not_told": set.as_ref().err().map(|error| format!("failed to {error}")),
        })
    });
    json!({
        "sum": sum.label,
        "terms": sum.asked.terms.iter().map(term).collect::<Vec<_>>(),
        "observed": observed.collect::<serde_json::Map<_, _>>(),
        "envelopes": envelopes.collect::<Vec<_>>(),
    })
}

fn explained(answer: &Answer, account: &Account, side: &str, accumulator: &str) -> Value {
    let rejected = account.joint.rejected().map(|(schedule, rejection)| {
        json!({
            "schedule": schedule.to_string(),
            "first_rejected_by": answer.label(rejection.element),
            "gives": rejection.gives.map(number),
        })
    });
    let schedules: Vec<String> = account.joint.survivors().map(Schedule::to_string).collect();
    let (order, undecided) = match &account.order {
        None => (Value::Null, None),
        Some(Ok(None)) => (json!(false), None),
        Some(Ok(Some(order))) => (
            json!({ "order": order.tree.to_string(), "fused": order.fused }),
            None,
        ),
        Some(Err(error)) => (Value::Null, Some(format!("failed to {error}"))),
    };
    json!({
        "side": side,
        "accumulator": accumulator,
        "evidence": account.evidence.name(),
        "explains": account.evidence.explains(),
        "inside": account.inside,
        "reachable": account.reachable,
        "schedules": schedules,
        "rejected": rejected.collect::<Vec<_>>(),
        "telling": account.joint.telling(),
        "other_order": order,
        "other_order_not_told": undecided,
    })
}

fn term(term: &Term) -> Value {
    match *term {
        Term::Value(x) => number(x),
        Term::Product(a, b) => json!([number(a), number(b)]),
    }
}

/// The bits, and the number where JSON has it.
fn number(x: f32) -> Value {
    let number = x.is_finite().then_some(x);
    json!({ "bits": format!("{:#010x}", x.to_bits()), "number": number })
}
