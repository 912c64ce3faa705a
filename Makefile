# yudai: every task of the project. `make help` lists them.
SHELL := /bin/bash
GO ?= go
GOFLAGS_TEST ?=
PKGS ?= ./...
N ?= 60
FUZZTIME ?= 10s

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
	YUDAI_TEST_REQUIRE=bubblewrap $(GO) test $(GOFLAGS_TEST) $(PKGS)

.PHONY: race
race: deps ## run the tests under the race detector
	YUDAI_TEST_REQUIRE=bubblewrap $(GO) test -race $(GOFLAGS_TEST) $(PKGS)

.PHONY: lint
lint: ## vet, formatting, and golangci-lint where it can be built
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

.PHONY: check
check: lint race demo ## what CI runs
	@$(MAKE) --no-print-directory fuzz FUZZTIME=3s
