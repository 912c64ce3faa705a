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

# Left out of the race tests of check, to stay under half an hour on two cores: they
# wait for sandboxes and test runners, not for goroutines of ours.
SLOW_RACE = /(sandboxtest|judge|tree)$$

.PHONY: check
check: ## what CI runs: lint, test, race, demo, a short fuzz
	@for part in lint test "race PKGS=$$(echo $$($(GO) list ./... | grep -vE '$(SLOW_RACE)'))" demo "fuzz FUZZTIME=2s"; do \
	  began=$$SECONDS; words=($$part); args=("$${words[0]}"); [ $${#words[@]} = 1 ] || args+=("$${part#* }"); \
	  $(MAKE) --no-print-directory "$${args[@]}" || exit 1; echo "check: $${words[0]} passed in $$((SECONDS - began)) s"; \
	done
