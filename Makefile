# Two commands matter: `make run` and `make test`. Both work from a fresh clone on Debian 12 with cargo and network.
# What they build and install lies outside the clone (packaging/environment.sh says where).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help run release install deb test test-installed prerequisites test-prerequisites browser webhook-verifiers mcp-clients mail-programs messaging-client identity-providers rocksdb format-check clippy deny advisories build unit static planted-bugs fmt bench bench-deliveries bench-workflows bench-messaging isolation crash-long audit-long cron-long workflows-long workflows-real power-cuts-long \
	disk-full-long faults-long kills-long ends-long deliveries-long messaging-long copies-long losses-long locale-tables rows corpora-long checks-corpora exchange-corpora fuzz-long schemas-long diagrams-prerequisites diagrams-oracle diagrams-fuzz gallery

# Each recipe runs in the build's environment.
in := source packaging/environment.sh &&
step = @printf '\n== %s\n' '$(1)'
binary = "$$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/$(1)/quintet"

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: prerequisites rocksdb ## build the binary the quick way and start the demo in the foreground, until Ctrl-C
	$(call step,quick build)
	@$(in) cargo build --locked --profile quick
	@$(in) exec $(call binary,quick) demo

release: prerequisites rocksdb ## build the release binary
	$(call step,release build)
	@$(in) cargo build --locked --release

# Where `make install` puts things. DESTDIR stands before everything, for packages that are put together elsewhere.
PREFIX ?= /usr/local
DESTDIR ?=
as_root = $(if $(DESTDIR),,$(shell [ "$$(id -u)" -eq 0 ] || echo sudo))

install: release ## install it below PREFIX (/usr/local), with units, completions and manual pages
	$(call step,install)
	@$(in) $(as_root) packaging/install.sh $(call binary,release) '$(DESTDIR)' '$(PREFIX)'

deb: release ## make the Debian package of the release binary
	$(call step,Debian package)
	@packaging/prerequisites.sh deb
	@$(in) packaging/deb.sh $(call binary,release)

# MACHINE=--qemu tries it on Debian's own kernel as well, with control groups of version 2; that takes minutes.
MACHINE ?=

test-installed: build ## install the package in a Debian with systemd of its own, and use it; needs root (MACHINE=--qemu)
	$(call step,the package on a system of its own)
	@$(in) tests/installed/run.sh $(MACHINE) $(call binary,debug)

# How many of others' starts are measured beside each attack: make isolation STARTS=500
STARTS ?= 200

isolation: test-prerequisites build ## try all that a hostile tenant might, and print what held it; needs root (STARTS=N, MACHINE=--qemu)
	$(call step,what a hostile tenant tries)
	@$(in) tests/privileged/isolation/run.sh $(STARTS) $(MACHINE)

test: test-prerequisites diagrams-prerequisites browser webhook-verifiers mcp-clients mail-programs messaging-client identity-providers format-check rocksdb clippy deny build unit static ## run everything that must pass before a change lands
	$(call step,all checks passed)

prerequisites: ## install the Debian packages that building and running need, where they are missing
	$(call step,prerequisites)
	@packaging/prerequisites.sh

test-prerequisites: ## install the Debian packages that tests need as well
	$(call step,prerequisites of tests)
	@packaging/prerequisites.sh test

browser: ## install the browser that the page of the diagrams is tested with
	$(call step,browser)
	@packaging/browser.sh

webhook-verifiers: ## install the verifiers of Standard Webhooks that judge what is delivered
	$(call step,verifiers of webhooks)
	@tests/webhooks/fetch.sh

mcp-clients: ## install the clients of the Model Context Protocol that the tools are called with
	$(call step,clients of MCP)
	@tests/mcp/fetch.sh

mail-programs: ## install what mail is sent, received and signed with in tests
	$(call step,programs of mail)
	@tests/mails/fetch.sh

messaging-client: ## install the public client of agent messaging that judges the service
	$(call step,client of messaging)
	@tests/messaging/fetch.sh

identity-providers: ## install the identity providers that people sign in with in tests
	$(call step,identity providers)
	@tests/identity/fetch.sh

rocksdb: ## compile RocksDB's C++, unless this machine has it already
	$(call step,RocksDB)
	@packaging/rocksdb.sh

format-check: ## check the formatting
	$(call step,format)
	@$(in) cargo fmt --all --check

clippy: rocksdb ## lint all code, tests included
	$(call step,clippy)
	@$(in) cargo clippy --locked --workspace --all-targets -- -D warnings

deny: ## check the licences, versions and sources of all dependencies
	$(call step,cargo deny)
	@packaging/cargo-deny.sh

advisories: ## hold all dependencies against the RustSec database, and write packaging/advisories.md; needs that git repository
	@packaging/prerequisites.sh advisories
	@packaging/advisories.sh

build: rocksdb ## build everything unoptimized
	$(call step,build)
	@$(in) cargo build --locked --workspace --all-targets

unit: rocksdb ## run the tests of every package
	$(call step,tests)
	@$(in) cargo test --locked --workspace --no-fail-fast

static: build ## check that the binary is static and runs
	$(call step,static binary)
	@$(in) packaging/check-static.sh $(call binary,debug)

bench: test-prerequisites rocksdb ## measure, on a machine that does nothing else (benches/README.md)
	@packaging/bench-prerequisites.sh
	@packaging/diagrams-oracle.sh
	@tests/webhooks/fetch.sh rivals
	@benches/workflows/fetch.sh
	@$(in) cargo bench --locked --bench '*'

bench-deliveries: test-prerequisites rocksdb ## measure deliveries alone, beside BullMQ and PgQueuer
	@tests/webhooks/fetch.sh rivals
	@$(in) cargo bench --locked --bench deliveries

bench-workflows: test-prerequisites rocksdb ## measure workflows alone, beside DBOS and Restate
	@benches/workflows/fetch.sh
	@$(in) cargo bench --locked --bench workflows

bench-messaging: test-prerequisites rocksdb ## measure messaging alone, beside PostgreSQL and Redis Streams
	@tests/webhooks/fetch.sh rivals
	@$(in) cargo bench --locked --bench messaging

# How long the long runs are: make crash-long CRASHES=1000000
CRASHES ?= 200000
STEPS ?= 5000
ROUNDS ?= 200
YEARS ?= 30
GRAPHS ?= 10000
CASES ?= 300000

crash-long: rocksdb ## simulated crashes of the storage by the hundred thousand (CRASHES=N)
	@$(in) QUINTET_CRASHES=$(CRASHES) cargo test --locked -p quintet-storage --lib crashes_at_random -- --nocapture

audit-long: rocksdb ## the ledger against its independent auditor, for longer (STEPS=N)
	@$(in) QUINTET_LEDGER_STEPS=$(STEPS) cargo test --locked -p quintet-ledger --lib independent_auditor -- --nocapture

cron-long: rocksdb ## cron patterns at random against each minute of so many years, in all time zones (YEARS=N)
	@$(in) QUINTET_CRON_YEARS=$(YEARS) cargo test --locked -p quintet-platform --lib recurrence::tests::model -- --nocapture

workflows-long: rocksdb ## random workflows, against a model that works out each history anew (GRAPHS=N)
	@$(in) QUINTET_WORKFLOWS=$(GRAPHS) cargo test --locked -p quintet-runs --lib workflows::tests::model -- --nocapture

workflows-real: rocksdb ## random workflows of real containers against the model, and kills in the middle, for longer; needs root (GRAPHS=N ROUNDS=N)
	@$(in) QUINTET_WORKFLOW_GRAPHS=$(GRAPHS) QUINTET_WORKFLOW_KILLS=$(ROUNDS) QUINTET_WORKFLOW_CANCELS=$(ROUNDS) cargo test --locked \
	  --test privileged workflows:: -- --nocapture

kills-long: rocksdb ## kill -9 of the real binary under load, again and again (ROUNDS=N)
	@$(in) QUINTET_KILLS=$(ROUNDS) cargo test --locked --test it nothing_acknowledged -- --nocapture

ends-long: rocksdb ## supervisors, runners and servers killed at any moment, and what is told of their containers; needs root (ROUNDS=N)
	@$(in) QUINTET_SUPERVISOR_ENDS=$(ROUNDS) QUINTET_RUNNER_ENDS=$(ROUNDS) QUINTET_START_ENDS=$(ROUNDS) QUINTET_RUN_ENDS=$(ROUNDS) \
	  QUINTET_HOUSE_ENDS=$(ROUNDS) cargo test --locked --test privileged -- --nocapture a_killed_supervisor what_is_left_of_a_runner \
	  a_kill_in_the_middle what_has_just_ended a_waiting_run_outlives

deliveries-long: rocksdb webhook-verifiers ## deliveries under kill -9 and full disks, beside a backlog, and health against its model, for longer; needs root (ROUNDS=N)
	@$(in) QUINTET_KILLS=$(ROUNDS) QUINTET_WAITING=100000 QUINTET_HEALTH_STEPS=$(STEPS) cargo test --locked --test it -- --nocapture \
	  every_event_arrives a_backlog_is the_table_of_receivers health_is_what
	@$(in) QUINTET_DISK_CYCLES=20 cargo test --locked --test privileged -- --nocapture deliveries_wait

messaging-long: rocksdb ## messaging under kill -9, and against its models, for longer (ROUNDS=N)
	@$(in) QUINTET_KILLS=$(ROUNDS) cargo test --locked --test it -- --nocapture what_was_accepted_is_there_once
	@$(in) QUINTET_MESSAGING_CASES=$(ROUNDS) cargo test --locked -p quintet-messaging --lib -- --nocapture days_go_as
	@$(in) QUINTET_MESSAGING_RUNS=$(ROUNDS)000 cargo test --locked -p quintet-messaging --lib -- --nocapture approvals_live_as
	@$(in) QUINTET_AGE_CASES=$(ROUNDS) cargo test --locked --test it -- --nocapture what_age_seals

power-cuts-long: rocksdb ## power cuts under the real binary; needs root (ROUNDS=N)
	@$(in) QUINTET_POWER_CUTS=$(ROUNDS) cargo test --locked --test privileged power_cut -- --nocapture

disk-full-long: rocksdb ## disks that run full under the real binary; needs root (ROUNDS=N)
	@$(in) QUINTET_DISK_CYCLES=$(ROUNDS) cargo test --locked --test privileged disk_full -- --nocapture

faults-long: rocksdb ## a fault at every call of the real binary that changes the disk
	@$(in) QUINTET_FAULTS=all cargo test --locked --test it no_fault -- --nocapture

copies-long: rocksdb ## copies of a running directory that take up to the copy window, and longer
	@$(in) QUINTET_COPIES=long cargo test --locked --test it copies -- --nocapture

losses-long: rocksdb ## machines that are lost under load, and what followed them (ROUNDS=N)
	@$(in) QUINTET_LOSSES=$(ROUNDS) cargo test --locked --test it follow::a_lost -- --nocapture

corpora-long: ## all string files of all packages, in all variants, edited and read again by other parsers
	@$(in) QUINTET_CORPORA=all cargo test --locked -p quintet-localization --lib real_files -- --nocapture

checks-corpora: ## what the checks of translations say of all real translations, by check; of what, too: ALARMS=Q07=100,Q12=50
	@$(in) QUINTET_CORPORA=all QUINTET_ALARMS=$(ALARMS) cargo test --locked -p quintet-localization --lib real_translations -- --nocapture

exchange-corpora: ## what translate-toolkit and we read of each other, over the texts of all string files
	@$(in) QUINTET_CORPORA=all cargo test --locked -p quintet-localization --lib exchange::toolkit -- --nocapture

fuzz-long: ## random and damaged string files by the hundred thousand (CASES=N)
	@$(in) QUINTET_FILES_CASES=$(CASES) cargo test --locked -p quintet-localization --lib random -- --nocapture

schemas-long: ## schemas and payloads at random, beside another validator (CASES=N)
	@$(in) QUINTET_SCHEMA_CASES=$(CASES) cargo test --locked -p quintet-messaging --lib schema::tests::random -- --nocapture

diagrams-prerequisites: test-prerequisites ## install Graphviz and the graphs that drawings are compared with
	$(call step,what drawings are compared with)
	@packaging/diagrams-oracle.sh

diagrams-oracle: diagrams-prerequisites ## compare all drawings with Graphviz's, and print what is reached beside the goals
	@$(in) QUINTET_DIAGRAMS_ORACLE=all cargo test --locked --release -p quintet-drawing --lib oracle::goals -- --nocapture

diagrams-fuzz: ## hostile DOT sources through the whole drawing (CASES=N)
	@$(in) QUINTET_DIAGRAMS_CASES=$(CASES) cargo test --locked --release -p quintet-drawing --lib hostile_sources -- --nocapture

gallery: rocksdb ## draw the pictures of assets/gallery anew
	@$(in) cargo build --locked
	@$(in) for source in assets/gallery/*.dot; do $(call binary,debug) render "$$source" -o "$${source%.dot}.svg"; done

planted-bugs: rocksdb ## plants bugs in the storage and sees that its tests catch each
	@$(in) QUINTET_PLANTED=all cargo test --locked --test planted -- --nocapture

rows: rocksdb ## keeps stored bytes of new tables and versions for tests/it/tidy (CONTRIBUTING.md)
	@$(in) export QUINTET_ROWS="$$CARGO_TARGET_DIR/rows" && rm -rf "$$QUINTET_ROWS" && \
	cargo test --locked $(addprefix -p quintet-,platform ledger localization runs messaging diagrams) && \
	cargo test --locked --test it rows_that_were_stored

locale-tables: ## make assets/locales anew from its pinned packages; needs npm
	@packaging/locale-tables.sh

fmt: ## format all code
	@$(in) cargo fmt --all
