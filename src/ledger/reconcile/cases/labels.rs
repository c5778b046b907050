use super::*;

fn session(id: &str, fact: SessionFact) -> Observation {
    cli(id, Fact::Session(fact))
}

fn hint(rank: ProjectRank, name: &str) -> Option<ProjectHint> {
    Project::named(name).map(|project| ProjectHint { rank, project })
}

#[test]
fn edge_059_205_one_project_for_the_session_the_best_named() {
    let folder = SessionFact {
        project: hint(ProjectRank::Folder, "shop-copy"),
        ..SessionFact::default()
    };
    let repository = SessionFact {
        project: hint(ProjectRank::Repository, "shop"),
        started: Some(seconds(99)),
        ..SessionFact::default()
    };
    let stated = [
        session("a", folder),
        row("r1", seconds(1), input(1)),
        row("r2", seconds(2), input(1)),
        session("b", repository),
    ];
    let projects: Vec<String> = reconcile(&stated)
        .calls
        .iter()
        .map(|call| call.project.to_string())
        .collect();
    assert_eq!(projects, ["shop", "shop"]);
}

#[test]
fn edge_058_without_a_hint_the_project_is_unknown() {
    let resolution = reconcile(&[row("r", seconds(1), input(1))]);
    assert_eq!(resolution.calls[0].project, Project::unknown());
}

#[test]
fn edge_156_a_repository_on_one_span_names_the_session() {
    let mut named = call(Evidence::Span, seconds(9), input(1));
    named.project = hint(ProjectRank::Repository, "repo");
    let stated = [
        vscode_call(Evidence::Span, "first", seconds(1), input(1)),
        observed("named", Surface::VsCode, Fact::Call(named)),
    ];
    let resolution = reconcile(&stated);
    assert!(
        resolution
            .calls
            .iter()
            .all(|call| call.project.as_str() == "repo")
    );
}

#[test]
fn edge_020_auto_is_what_the_session_resolved_it_to() {
    let mut nameless = call(Evidence::Message, seconds(1), output(1));
    nameless.model = None;
    let nameless = cli("m", Fact::Call(nameless));
    let unknown = reconcile(std::slice::from_ref(&nameless));
    assert_eq!(unknown.calls[0].model, None);
    let resolved = SessionFact {
        model: Some("gpt-5-mini".to_owned()),
        ..SessionFact::default()
    };
    let resolution = reconcile(&[nameless, session("s", resolved)]);
    assert_eq!(resolution.calls[0].model.as_deref(), Some("gpt-5-mini"));
}

#[test]
fn rows_take_the_provider_of_the_sessions_other_calls_of_the_model() {
    let own = |id: &str, model: &str| {
        let mut fact = call(Evidence::UsageRecord, seconds(1), input(7));
        fact.model = Some(model.to_owned());
        fact.provider = Some(Provider::own("anthropic"));
        fact.credits = credits(5);
        fact.premium = PremiumRequests::from_multiplier(1.0);
        fact.initiator = Initiator::User;
        cli(id, Fact::Call(fact))
    };
    let of_model = |id: &str, time, model: &str| {
        let mut fact = call(Evidence::StoreRow, seconds(time), input(8));
        fact.model = Some(model.to_owned());
        fact.credits = credits(3);
        cli(id, Fact::Call(fact))
    };
    let stated = [
        own("u", "claude-sonnet-4.5"),
        of_model("r1", 300, "claude-sonnet-4-5"),
        of_model("r2", 600, "gpt-5.4"),
    ];
    let resolution = reconcile(&stated);
    let told: Vec<_> = resolution
        .calls
        .iter()
        .map(|call| (call.provider.as_str(), call.credits, call.premium))
        .collect();
    let none = Some(PremiumRequests(0));
    assert_eq!(
        told,
        [
            ("anthropic", credits(5), none),
            ("anthropic", credits(3), none),
            ("copilot", credits(3), None),
        ]
    );
}

#[test]
fn the_session_names_providers_where_no_call_does() {
    let listed = SessionFact {
        providers: vec![("gpt-5.4".to_owned(), Provider::own("ollama"))],
        ..SessionFact::default()
    };
    let resolution = reconcile(&[session("s", listed), row("r", seconds(1), input(1))]);
    assert_eq!(resolution.calls[0].provider, Provider::own("ollama"));
}

#[test]
fn edge_123_a_requests_own_provider_is_that_of_its_spans() {
    let own = TurnFact {
        provider: Some(Provider::own("customendpoint")),
        model: Some("Fake/demo-large".to_owned()),
        ..turn(
            Evidence::JournalRequest,
            "a",
            seconds(0),
            seconds(9),
            output(5),
        )
    };
    let mut span = call(Evidence::Span, seconds(1), input(9));
    span.model = Some("demo-large".to_owned());
    let stated = [
        vscode_turn("t", own),
        observed("s", Surface::VsCode, Fact::Call(span)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.calls.len(), 1);
    assert_eq!(
        resolution.calls[0].provider,
        Provider::own("customendpoint")
    );
    assert_eq!(resolution.calls[0].credits, None);
}

#[test]
fn the_cli_ran_where_its_workspace_says() {
    let hosted = SessionFact {
        surface: Some(Surface::JetBrains),
        ..SessionFact::default()
    };
    let stated = [
        session("s", hosted),
        row("r", seconds(1), input(1)),
        vscode_call(Evidence::Span, "o", seconds(500), input(2)),
    ];
    let surfaces: Vec<_> = reconcile(&stated)
        .calls
        .iter()
        .map(|call| call.surface)
        .collect();
    assert_eq!(surfaces, [Surface::JetBrains, Surface::VsCode]);
}

fn desktop(id: &str, time: i64, tokens: Tokens, credits: Option<Credits>) -> Observation {
    let fact = TotalFact {
        time: Some(seconds(time)),
        model: Some(MODEL.to_owned()),
        tokens,
        credits,
    };
    observed(id, Surface::Desktop, Fact::Total(fact))
}

#[test]
fn edge_094_desktop_totals_count_only_where_nobody_else_knows() {
    let totals = desktop("t", 50, tokens(1_500, 3_500, 0, 210), Some(Credits(0)));
    let alone = reconcile(std::slice::from_ref(&totals));
    assert_eq!(alone.sums(), sums(1, [1_500, 3_500, 0, 210]));
    assert_eq!(alone.calls[0].credits, None);
    assert_eq!(alone.calls[0].surface, Surface::Desktop);
    let known = row("r", seconds(1), input(15_000));
    assert_eq!(total(&[totals, known]), sums(1, [15_000, 0, 0, 0]));
}

#[test]
fn edge_095_desktop_totals_that_grow_add_the_difference() {
    let stated = [
        desktop("t1", 50, input(1_000), None),
        desktop("t2", 90, input(1_600), None),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(1, [1_600, 0, 0, 0]));
    let grown: Vec<_> = resolution
        .calls
        .iter()
        .map(|call| (call.time, call.tokens.get(TokenType::Input)))
        .collect();
    assert_eq!(
        grown,
        [
            (Some(seconds(50)), Some(1_000)),
            (Some(seconds(90)), Some(600))
        ]
    );
}

fn bound(id: &str, time: i64, amount: u64) -> Observation {
    let fact = TotalFact {
        time: Some(seconds(time)),
        model: None,
        tokens: Tokens::default(),
        credits: credits(amount),
    };
    cli(id, Fact::Total(fact))
}

#[test]
fn edge_038_121_running_totals_are_bounds_and_never_added() {
    let mut charged = call(Evidence::StoreRow, seconds(1), input(1));
    charged.credits = credits(4);
    let charged = cli("r", Fact::Call(charged));
    let unattributed = |bounds: &[Observation]| {
        let resolution = reconcile(&[bounds, std::slice::from_ref(&charged)].concat());
        assert_eq!(resolution.sums().calls, 1);
        assert_eq!(resolution.credits(), 4 * Credits::NANO);
        resolution.unattributed.0 / Credits::NANO
    };
    assert_eq!(
        unattributed(&[bound("1", 2, 2), bound("2", 3, 5), bound("3", 4, 5)]),
        1
    );
    assert_eq!(unattributed(&[bound("1", 2, 4)]), 0);
    assert_eq!(unattributed(&[bound("before", 0, 3)]), 3);
}

fn failure(evidence: Evidence, id: &str, time: i64) -> Observation {
    let fact = FailureFact {
        evidence,
        keys: vec![Key::of("failure", &[id])],
        time: Some(seconds(time)),
        model: None,
        provider: None,
        reason: FailureReason::Server,
        project: None,
    };
    cli(&format!("{id}{evidence:?}"), Fact::Failure(fact))
}

#[test]
fn edge_042_200_attempts_and_the_error_that_ends_them() {
    let mut stated: Vec<Observation> = (0..6)
        .map(|attempt| failure(Evidence::Span, &attempt.to_string(), attempt))
        .collect();
    stated.push(failure(Evidence::Message, "gave up", 16));
    assert_eq!(reconcile(&stated).failures.len(), 6);
    assert_eq!(reconcile(&stated[6..]).failures.len(), 1);
    stated.push(failure(Evidence::Message, "another", 900));
    assert_eq!(reconcile(&stated).failures.len(), 7);
    // Of two failed requests, spans tell the attempt of one.
    let two = [
        failure(Evidence::JournalRequest, "r1", 0),
        failure(Evidence::Span, "s", 1),
        failure(Evidence::JournalRequest, "r2", 20),
    ];
    assert_eq!(reconcile(&two).failures.len(), 2);
    let copies = [
        failure(Evidence::Nitrite, "a", 1),
        failure(Evidence::Partition, "a", 1),
    ];
    assert_eq!(reconcile(&copies).failures.len(), 1);
}
