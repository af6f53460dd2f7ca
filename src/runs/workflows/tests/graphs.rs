//! What is no graph is refused, and nothing is stored.

use super::*;

fn refused(bench: &Bench, nodes: Vec<NewNode>, edges: Vec<NewEdge>) -> (String, String) {
    match tried(bench, tenant(1), new(nodes, edges)) {
        Err(Refusal::InvalidGraph(field, problem)) => (field, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_graph_is_named() {
    let bench = bench();
    let ab = || vec![gate("a"), gate("b")];
    let inputs = |inputs: &[&str]| {
        let inputs_from = inputs.iter().map(|input| (*input).to_owned()).collect();
        vec![gate("x-y"), gate("x_y"), NewNode { inputs_from, ..gate("c") }]
    };
    for (nodes, edges, field, part) in [
        (vec![gate("a"), gate("a")], Vec::new(), "nodes[1].ref", "\"a\" already"),
        (ab(), path(&[("a", "c")]), "edges[0].to", "no node \"c\""),
        (ab(), path(&[("a", "b"), ("c", "b")]), "edges[1].from", "no node \"c\""),
        (inputs(&["z"]), Vec::new(), "nodes[2].inputs_from[0]", "no node \"z\""),
        (ab(), path(&[("a", "a")]), "edges[0]", "to itself"),
        (ab(), vec![edge("a", "b", Condition::Always), edge("a", "b", Condition::OnFailure)], "edges[1]", "already"),
        (ab(), path(&[("a", "b"), ("b", "a")]), "edges", "cycle"),
        (inputs(&["x-y", "x_y"]), Vec::new(), "nodes[2].inputs_from[1]", "SVC_INPUT_X_Y"),
    ] {
        let told = refused(&bench, nodes, edges);
        assert!(told.0 == field && told.1.contains(part), "{told:?}");
    }
    let five = ["a", "b", "c", "d", "e"].map(gate).to_vec();
    let told = refused(&bench, five, path(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")]));
    let cycles = ["b", "c", "d"].map(|first| {
        let order: Vec<&str> = ["b", "c", "d"].into_iter().cycle().skip_while(|one| *one != first).take(4).collect();
        order.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" -> ")
    });
    assert!(cycles.iter().any(|cycle| told.1 == format!("there is a cycle: {cycle}")), "{told:?}");
    assert_eq!(
        super::super::list::list(&bench.store.read(), tenant(1), &Default::default(), None, 9).unwrap().items,
        []
    );
}

#[test]
fn quotas_are_looked_at_in_order_and_all_or_nothing() {
    let bench = bench();
    let set = |name: &'static str, value| {
        let asked = SetQuotas { numbers: vec![(name, value)], ..SetQuotas::default() };
        bench.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap();
    };
    let three = || new(["a", "b", "c"].map(gate).to_vec(), Vec::new());
    set("max_nodes_per_workflow", 2);
    assert_eq!(tried(&bench, tenant(1), three()), Err(Refusal::TooManyNodes(2)));
    set("max_nodes_per_workflow", 50);
    set("max_daily_runs", 8);
    set("max_concurrent_workflows", 2);
    let first = tried(&bench, tenant(1), three()).unwrap();
    tried(&bench, tenant(1), three()).unwrap();
    assert_eq!(tried(&bench, tenant(1), three()), Err(Refusal::WorkflowQuota(2)));
    bench.run(move |tx, now| cancel(tx, now, first)).unwrap();
    assert!(
        matches!(tried(&bench, tenant(1), three()), Err(Refusal::DailyQuota(_))),
        "two are left, three are asked for"
    );
    tried(&bench, tenant(1), new(vec![gate("a"), gate("b")], Vec::new())).unwrap();
    assert_eq!(retried(&bench, first, "a"), Err(Refusal::WorkflowQuota(2)), "it would be active again");
    let terms = KeyTerms { allowed_images: Some(vec!["alpine".into()]), ..KeyTerms::default() };
    bench.run(move |tx, _| Ok(terms::give(tx, "narrow", &terms)?)).unwrap();
    let narrow = NewWorkflow { key_id: "narrow".into(), ..new(vec![container("a", 0)], Vec::new()) };
    assert_eq!(tried(&bench, tenant(2), narrow), Err(Refusal::ImageNotAllowed));
    sound(&bench);
}
