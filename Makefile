VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINTER_VERSION := 2.15.0
LINTER := bin/golangci-lint-$(LINTER_VERSION)

.DEFAULT_GOAL := help
.PHONY: help build test test-short copy-messaging bench lint fmt fuzz clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build bin/boxoffice
	go build -ldflags '-X main.version=$(VERSION)' -o bin/boxoffice ./cmd/boxoffice

test: ## Run all tests with the race detector on real servers, installing these if need be
	scripts/test.sh

test-short: ## Run the quick tests; those without a server are skipped
	go test -race -short ./...

copy-messaging: ## Copy messaging into an empty module and run its tests there
	scripts/setup-tests.sh
	go run ./scripts/withbroker scripts/copy-messaging.sh

bench: ## Measure whole sagas against the broker's own limit (BENCH_FLAGS, see go run ./bench -h)
	scripts/setup-tests.sh
	go run ./bench $(BENCH_FLAGS)

lint: $(LINTER) ## Run golangci-lint
	$(LINTER) run
	@for dir in $$(grep -rl --include='*_test.go' 'time\.Sleep(' . | xargs -r dirname | sort -u); do \
		grep -q testing/synctest $$dir/*_test.go || { echo "$$dir: tests sleep in real time" >&2; exit 1; }; done

fmt: $(LINTER) ## Format the code
	$(LINTER) fmt

fuzz: ## Run every fuzz test for FUZZTIME (20s)
	scripts/fuzz.sh

clean: ## Delete what was built
	rm -rf bin

$(LINTER):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINTER_VERSION)
	mv bin/golangci-lint $@
