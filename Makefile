# Everything a newcomer types. `make demo` and `make test` need nothing but make and git on a fresh Debian 12.

# Compiled files live outside the clone: a second clone, or a clean one, finds them.
CARGO_TARGET_DIR ?= $(HOME)/.cache/plait/target
export CARGO_TARGET_DIR
CARGO := setup/cargo
RELEASE = $(CARGO_TARGET_DIR)/release
# Processors do not halt while a bench measures, where a hypervisor would give them away meanwhile and the caller may.
AWAKE = bin/plait awake --try --

.DEFAULT_GOAL := help
.PHONY: help build demo test fuzz same-bytes docs bench-links bench-awake bench-testbed bench-experiment bench-overlay bench-control bench-controller bench-paths bench-simulator study-accuracy study-guests study-iplb study-maestro study-overlay-profile study-ovstack study-real-networks study-vito package clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

build: ## Build bin/plait
	@setup/install build
	$(CARGO) build --release --locked --package plait-interface-cli
	@install -D $(RELEASE)/plait bin/plait

demo: build ## Run a first experiment and say where its report is
	@setup/install demo
	@setup/demo

test: ## Run every test, then rustfmt and clippy
	@setup/install build demo test
	@setup/vectors || echo "setup/vectors failed: tests that ask for them are skipped" >&2
	@setup/test

fuzz: ## Ask every parser again with hostile input, CASES times each (20000), and hold the programs against the walk (root)
	@setup/install build
	PROPTEST_CASES=$(or $(CASES),20000) $(CARGO) test --release --locked --workspace --lib --tests -- \
		no_text no_bytes no_answer no_content whatever_is_read both_transmit both_receive both_relay both_guard both_send both_pass both_cut a_driver_relays no_frame

same-bytes: ## Hold what the simulator gives on another kind of processor against what is written down (aarch64, in QEMU; needs rustup)
	@setup/install build other-machine
	@command -v rustup >/dev/null || { echo "rustup is missing: it brings Rust's library for aarch64; https://rustup.rs" >&2; exit 1; }
	rustup target add aarch64-unknown-linux-gnu
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		$(CARGO) test --release --locked --target aarch64-unknown-linux-gnu --package plait-simulator-engine --test determinism -- machine

docs: ## Make the book: docs/book/index.html
	@command -v mdbook >/dev/null || { echo "mdbook is missing; get it by: cargo install mdbook" >&2; exit 1; }
	mdbook build docs

bench-links: build ## Hold the link engine against its bars (root for class A)
	$(CARGO) build --release --locked --package plait-dataplane-links --example bars
	@$(AWAKE) $(RELEASE)/examples/bars

bench-awake: build ## Say what keeping processors awake gains and costs (root; SMALL=1)
	$(CARGO) build --release --locked --package plait-dataplane-processors --example waits
	@studies/awake/run $(if $(SMALL),--small)

bench-testbed: build ## Hold building and teardown against Mininet and `ip -batch`, and say what links carry (root)
	@setup/install demo test bench
	@studies/testbed-speed/run
	@studies/link-throughput/run

bench-experiment: build ## Say what experiments cost beyond their commands' own time (root)
	@setup/install demo test bench
	@studies/experiment-cost/run

bench-overlay: build ## Hold overlays against veth, the kernel's tunnels and its forwarding (root; SMALL=1, ONLY=gateway)
	@setup/install build test
	$(CARGO) build --release --locked --package plait-dataplane-profile --example overlay_bars
	$(CARGO) build --release --locked --package plait-testbed-guest --example guest
ifneq ($(ONLY),guest)
	@$(AWAKE) unshare --mount sh -c 'mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf; exec "$$@"' sh \
		$(RELEASE)/examples/overlay_bars $(if $(SMALL),--small) $(if $(ONLY),--only $(ONLY))
endif
ifneq ($(filter guest,$(or $(ONLY),guest)),)
	@studies/overlay-profile/guest-rates $(RELEASE)/examples/guest $(RELEASE)/examples/overlay_bars $(if $(SMALL),--rounds 3)
endif

bench-control: ## Say what the control runtime costs beside what it runs
	@setup/install build test
	$(CARGO) build --release --locked --package plait-control-component --example control_bars --example componentize
	@cd examples/control/least-delay && built=$$(mktemp -d) && \
		clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o "$$built/core.wasm" least-delay.c && \
		$(RELEASE)/examples/componentize "$$built/core.wasm" least-delay.wit "$$built/least-delay.wasm" && \
		$(RELEASE)/examples/control_bars "$$built/least-delay.wasm" manifest.json; \
		status=$$?; rm -r "$$built"; exit $$status

bench-controller: build ## Hold the controller against a null responder and others (RIVALS=folder of studies/maestro/rivals; CONTROLLERS="--controller 'NAME=COMMAND {port}'"; CHURN=learning-switch,routing; ONLY=bound, churn, connections or rounds; SMALL=1)
	@setup/install build test bench
	$(CARGO) build --release --locked --package plait-dataplane-load --example controller_bars --example null_over_io_uring
	@$(AWAKE) $(RELEASE)/examples/controller_bars $(if $(SMALL),--seconds 1 --rounds 1) $(CONTROLLERS) \
		$(if $(CHURN),--churn $(CHURN)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(RIVALS),--cbench $(RIVALS)/cbench --libfluid "$(RIVALS)/libfluid-raw cbench") \
		--controller "null over io_uring=$(RELEASE)/examples/null_over_io_uring 127.0.0.1:{port}" \
		--controller "os-ken=osken-manager --ofp-listen-host 127.0.0.1 --ofp-tcp-listen-port {port} studies/maestro/os_ken_switch.py" \
		--controller "plait=$(CURDIR)/bin/plait controller run --listen 127.0.0.1:{port} --name bench"

bench-paths: build ## Hold the planner of paths against its bars, count which of the thesis's lists deviate, say what headers cost, and bench the simulator (root; SMALL=1)
	@setup/install build bench
	$(CARGO) build --release --locked --package plait-control-paths --example paths_bars --example paths_deviation
	@$(AWAKE) $(RELEASE)/examples/paths_bars
	@$(AWAKE) $(RELEASE)/examples/paths_deviation
	$(CARGO) build --release --locked --package plait-dataplane-profile --example header_bars
	@$(AWAKE) $(RELEASE)/examples/header_bars $(if $(SMALL),--small)
	@$(MAKE) --no-print-directory bench-simulator SMALL=$(SMALL)

bench-simulator: build ## Hold the simulator against its bars and ns-3, and join a thousand members to an overlay (SMALL=1)
	@setup/install build bench-simulator
	$(CARGO) build --release --locked --package plait-simulator-engine --example simulator_bars
	g++ -std=c++17 -O3 -DNDEBUG -Wall -Wextra simulator/engine/examples/simulator_bars/rival.cc \
		-lns3-point-to-point -lns3-internet -lns3-network -lns3-core -o $(RELEASE)/examples/ns3_rival
	@$(RELEASE)/examples/simulator_bars --ns3 $(RELEASE)/examples/ns3_rival
	$(CARGO) build --release --locked --package plait-simulator-world --example thousand_nodes
	@$(RELEASE)/examples/thousand_nodes $(if $(SMALL),100)

study-accuracy: build ## Hold links against netem, token buckets and Mininet (root; SMALL=1, RESUME=folder)
	@setup/install demo test bench
	$(CARGO) build --release --locked --package plait-dataplane-links --example one_way
	$(CARGO) build --release --locked --package plait-testbed-guest --example guest
	@studies/accuracy/run $(if $(SMALL),--small,--page docs/src/studies/accuracy.md) $(if $(RESUME),--resume $(RESUME))

study-guests: build ## Say what guests cost and carry (root)
	@setup/install demo test bench
	$(CARGO) build --release --locked --package plait-testbed-guest --example guest
	@studies/guests/run $(RELEASE)/examples/guest

study-iplb: build ## iplb's evaluation in the simulator and on real stacks (root but for ONLY="times forwarding forwarding-8 forwarding-16 rearranging"; SMALL=1, ONLY="recovery subflows")
	@setup/install demo test bench
	$(CARGO) build --release --locked --package plait-simulator-world --example fabric_study
	$(CARGO) build --release --locked --package plait-control-paths --example paths_times
	@studies/iplb/run $(ONLY) $(if $(SMALL),--small,--page docs/src/studies/iplb.md)

study-overlay-profile: build ## What sending by each encapsulation costs, stage by stage, here and in a guest (root; SMALL=1)
	@setup/install demo test bench
	$(CARGO) build --release --locked --package plait-testbed-guest --example guest
	@$(AWAKE) studies/overlay-profile/run $(RELEASE)/examples/guest $(if $(SMALL),--small,--page docs/src/studies/overlay-fib.md)

study-ovstack: build ## ovstack's control planes over an Internet of 30 eBGP routers (root; SMALL=1)
	@setup/install demo test
	@studies/ovstack/run $(if $(SMALL),--small,--page docs/src/studies/ovstack.md)

study-maestro: build ## Maestro's evaluation of its controller, beside the thesis's figures (SMALL=1, ONLY="fairness presets")
	@setup/install demo test
	$(CARGO) build --release --locked --package plait-dataplane-load --example controller_scaling --example output_batching
	@$(AWAKE) studies/maestro/run $(ONLY) $(if $(SMALL),--small,--page docs/src/studies/maestro.md)

study-real-networks: build ## Import maps from DIR, build two of them, ask all pairs (root; DIR=folder)
	@setup/install demo test bench
	@studies/real-networks/run $(DIR)

study-vito: build ## VITO's experiments again, beside the thesis's figures (root; SMALL=1, RESUME=folder)
	@setup/install demo test bench
	$(CARGO) build --release --locked --package plait-testbed-guest --example guest
	@studies/vito/run --guest $(RELEASE)/examples/guest $(if $(RESUME),--resume $(RESUME)) \
		$(if $(SMALL),--small,--page docs/src/studies/vito.md)

package: build ## Make dist/plait_VERSION_amd64.deb and the tarball
	@setup/package bin/plait dist

clean: ## Remove what was made in this folder
	rm -rf bin dist docs/book results
