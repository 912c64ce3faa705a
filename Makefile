# yudai: every task of the project. `make help` lists them.
SHELL := /bin/bash
GO ?= go
GOFLAGS_TEST ?=
PKGS ?= ./...
N ?= 60
SEED ?= 1
J ?= 3
PAIRS ?= 300
FUZZTIME ?= 10s
FUZZJOBS ?= 1
FUZZTARGETS ?= all
MUTATION ?= all
PART ?= 1
# What check samples differs from commit to commit.
TURN := $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
comma := ,
# A test that would skip for want of one of these fails instead.
export YUDAI_TEST_REQUIRE = bubblewrap$(comma)browser$(comma)npm$(comma)pip$(comma)postgres$(if $(filter 0,$(shell id -u)),$(comma)root$(comma)docker)
# The end-to-end tests wait most of the time: they begin first, beside two other packages at a time.
FIRST = $(if $(filter ./...,$(PKGS)),./test/e2e)
# Tests start a container engine of their own, which takes root.
ENGINE = $(if $(filter 0,$(shell id -u)),dockerd)

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

.PHONY: release
release: ## build what people install from the last commit into build/release: static programs, deb packages, checksums; SYSTEMS=linux/amd64 builds one
	@scripts/release $(SYSTEMS)

.PHONY: short
short: ## run the tests that take a minute in all, and need nothing but Go, git and bubblewrap
	$(GO) test -short $(GOFLAGS_TEST) $(PKGS)

.PHONY: test
test: deps ## run the tests; a required sandbox, browser, npm, pip or PostgreSQL that cannot run is a failure (installs chromium, npm, pip, PostgreSQL and, for root, docker.io)
	@scripts/deps chromium npm postgresql python3-venv $(ENGINE)
	$(GO) test -timeout 25m -p 3 -parallel 4 $(GOFLAGS_TEST) $(FIRST) $(PKGS)

.PHONY: test-long
test-long: ## the same with the tests that take long; PART=0/3 runs the first third of those
	@YUDAI_TEST_LONG=$(PART) $(MAKE) --no-print-directory test

.PHONY: race
race: deps ## run the tests under the race detector (needs a C compiler, and installs gcc)
	@scripts/deps gcc chromium npm postgresql python3-venv $(ENGINE)
	$(GO) test -race -timeout 20m $(GOFLAGS_TEST) $(PKGS)

.PHONY: lint
lint: ## formatting, golangci-lint with vet (built from source once)
	@scripts/lint

.PHONY: house
house: ## measure the source tree: lines by room, files, functions, imports that run up
	@$(GO) run ./test/house/cmd

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 10s), FUZZJOBS at a time (default 1); FUZZTARGETS=8 runs eight, others with each commit
	@scripts/fuzz $(FUZZTIME) $(FUZZJOBS) $(FUZZTARGETS)

.PHONY: bench
bench: deps build ## measure against the targets and print the table; ARGS=-update writes docs/evidence/benchmarks.md
	@CGO_ENABLED=0 $(GO) build -trimpath -o bin/bench ./test/bench
	@bin/bench $(ARGS)

.PHONY: profile
profile: deps build ## profile the slowest path of each row once, into build/profile
	@CGO_ENABLED=0 $(GO) build -trimpath -o bin/bench ./test/bench
	@bin/bench -times 1 -cpuprofile build/profile $(ARGS)

.PHONY: microbench
microbench: deps ## run the Go benchmarks of single operations
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

.PHONY: guest
guest: ## rebuild the program that runs inside sandboxes (sandbox/guest/built)
	$(GO) test -count=1 -run TestProgramIsCurrent ./sandbox/guest -update

.PHONY: image
image: ## build the image of yudai, and the one of the docker driver's sandboxes below it (needs the docker command and a registry)
	@scripts/image

.PHONY: image-bases
image-bases: ## stand-ins for the images these begin with, from Debian's packages and this machine's toolchains, where no registry is reached
	@scripts/image-bases

.PHONY: image-test
image-test: ## build the image and try it: version, port, health, demo, solve, the driver docker (needs the docker command and a registry)
	@scripts/image-test

.PHONY: docker-image
docker-image: ## build the image of the docker driver's sandboxes (needs the docker command and a registry)
	@scripts/docker-image

.PHONY: demo
demo: deps build ## from a label to the champion pull request, on this machine; ARGS=--keep leaves it running, to comment in
	bin/yudai demo $(ARGS)

.PHONY: kill
kill: deps ## kill the program at N sampled points (default 60) and count from outside; SEED=1 chooses them
	@$(GO) run ./test/kill -n $(N) -seed $(SEED) -j $(J)

.PHONY: kill-mutations
kill-mutations: deps ## five faults built in on purpose, each of which the campaign must notice
	@$(GO) run ./test/kill -mutation all

.PHONY: attack
attack: deps build ## attack the real program in every way of test/attack, and print what held; writes docs/evidence/attacks.md
	@$(GO) run ./test/attack -yudai bin/yudai -docs docs/evidence/attacks.md -beside build/attack-user $(ARGS)

.PHONY: attack-user
attack-user: deps ## the same as an ordinary user, in a clean clone of the last commit in that user's home (takes root); `make attack` then shows this score, too
	@scripts/attack-as-user

.PHONY: attack-sample
attack-sample: deps build ## a sample of the same that takes about a minute, without the page
	@$(GO) run ./test/attack -yudai bin/yudai -sample $(ARGS)

.PHONY: attack-mutations
attack-mutations: deps build ## walls left out on purpose, each of which the attacks must notice; MUTATION=3 tries one of them
	@$(GO) run ./test/attack -yudai bin/yudai -mutation $(MUTATION)

.PHONY: simulate
simulate: ## crash the engine in simulated time at every boundary of every scenario, and at PAIRS pairs (default 300, or all)
	@set -o pipefail; $(GO) test ./test/simulation -count=1 -v -timeout 12h -every -pairs=$(if $(filter all,$(PAIRS)),0,$(PAIRS)) -seed=$(SEED) \
	  | grep -vE '^ *(=== |--- PASS)'

.PHONY: projects
projects: deps build ## solve planted bugs of existing projects (needs package registries), and write docs/evidence/projects.md
	$(GO) run ./test/projects -yudai bin/yudai -docs docs/evidence/projects.md

.PHONY: projects-sample
projects-sample: deps build ## the same for one project of each language, without the page
	$(GO) run ./test/projects -yudai bin/yudai -sample

.PHONY: judgement
judgement: deps build ## measure how well the right candidate is chosen, on a published set and on repositories of ours (needs package registries); writes docs/evidence/judgement.md
	$(GO) run ./test/judgement -yudai bin/yudai -docs docs/evidence/judgement.md $(ARGS)

# What check runs under the race detector: the packages with goroutines of ours, without tests
# that compare many cases one after the other. `make race` has all; the rest waits for engines,
# agents and test runners, or is pure.
RACE = ./agent ./ghapp ./handlers ./internal/unixsock ./model/... ./sandbox/e2b ./sandbox/egress ./test/fakesandbox ./sandbox/guest ./sandbox/local ./sandbox/prime \
  ./sandbox/cloud ./server/... ./setup ./solver ./solver/budget ./solver/prepare ./solver/rights ./store/bolt ./store/postgres ./web
LONG = Death|Billed|Promises|Replay|Conformance|Frame|OrdinaryUser|Canary|SameAsTheModel|KeptAsItCame|CostDoesNotGrow|EveryWrongValue|EveryUnknownKey|NoHourHasMore|FaultsAreWaitedFor|WithFaults|Deadline|WaitingEnds|WaitingIsGreeted|Browser
.PHONY: race-short
race-short: deps
	@scripts/deps gcc npm postgresql python3-venv
	$(GO) test -race -timeout 20m $(RACE) -skip '$(LONG)'
	$(GO) test -race -timeout 20m ./test/e2e -run 'TestScenarios/0[1-3]|TestKilledRunGoesOn'

# To stay under half an hour on two cores, every other commit has a third of the long tests, and the others have the
# daily ones and the race detector.
TESTS = $(if $(filter 0,$(shell echo $$(($(TURN) % 2)))),test-long,test race-short)
LONGS = $(shell echo $$(($(TURN) / 2 % 3)))/3
# So do the campaigns: two with each commit.
CAMPAIGNS_0 = projects-sample fuzz
CAMPAIGNS_1 = kill kill-mutations
CAMPAIGNS_2 = attack-sample attack-mutations
.PHONY: check
check: ## what CI runs: lint, tests (some long ones, or the race detector) and the demo; then by turns kills, attacks, projects with a short fuzz
	@for part in lint $(TESTS) demo $(CAMPAIGNS_$(shell echo $$(($(TURN) % 3)))); do \
	  began=$$SECONDS; $(MAKE) --no-print-directory $$part PART=$(LONGS) FUZZTIME=2s FUZZTARGETS=4 MUTATION=$(TURN) N=30 J=5 || exit 1; echo "check: $$part passed in $$((SECONDS - began)) s"; \
	done
