# yudai: every task of the project. `make help` lists them.
SHELL := /bin/bash
GO ?= go
GOFLAGS_TEST ?=
PKGS ?= ./...
N ?= 5
FUZZTIME ?= 10s
# A test that would skip for want of one of these fails instead.
export YUDAI_TEST_REQUIRE = bubblewrap

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-8s %s\n", $$1, $$2}'

.PHONY: deps
deps: ## install what yudai needs on this machine (bubblewrap)
	@scripts/deps

.PHONY: build
build: ## build bin/yudai, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/yudai .

.PHONY: test
test: deps ## run the tests; a required sandbox that cannot run is a failure
	$(GO) test $(GOFLAGS_TEST) $(PKGS)

.PHONY: race
race: deps ## run the tests under the race detector (needs a C compiler, and installs gcc)
	@scripts/deps gcc
	$(GO) test -race -timeout 20m $(GOFLAGS_TEST) $(PKGS)

.PHONY: lint
lint: ## formatting, vet, golangci-lint (built from source once)
	@scripts/lint

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 10s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: bench
bench: deps ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

.PHONY: demo
demo: deps build ## from a label to the champion pull request, on this machine
	bin/yudai demo

.PHONY: kill
kill: deps ## kill the process in each state N times (default 5); the next one finishes the work
	$(GO) test ./internal/e2e -run Killed -count=$(N) -timeout 60m -v

# Left out here, to keep check under half an hour on two cores: packages whose
# tests wait for sandboxes and test runners, not for goroutines of ours.
.PHONY: race-short
race-short: deps
	@scripts/deps gcc
	$(GO) test -race -timeout 20m $$($(GO) list ./... | grep -vE '/(sandboxtest|judge|tree)$$')

.PHONY: check
check: ## what CI runs: lint, test, race (not all packages), demo, a short fuzz
	@for part in lint test race-short demo fuzz; do \
	  began=$$SECONDS; $(MAKE) --no-print-directory $$part FUZZTIME=2s || exit 1; echo "check: $$part passed in $$((SECONDS - began)) s"; \
	done
