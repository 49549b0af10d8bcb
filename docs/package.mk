# Manuals, completions and examples for install; the tarball; the Debian packages.

MANUALS := $(wildcard docs/*.[1-9])
COMPLETIONS := $(addprefix $(B)/completions/,bash zsh fish)
DOC_DIR := $(DESTDIR)$(PREFIX)/share/doc/oarbank-probe
BASH_DIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_DIR := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_DIR := $(DESTDIR)$(PREFIX)/share/fish/completions

$(COMPLETIONS): $(B)/completions/%: $(B)/oarbank-probe
	$(call step,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$< completion $* >$@

.PHONY: install-docs uninstall-docs dist deb check-package
install-docs: $(COMPLETIONS)
	for m in $(MANUALS); do install -D -m 0644 $$m $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$${m##*/} || exit 1; done
	ln -sf oarbank-sandbox.1 $(DESTDIR)$(PREFIX)/share/man/man1/oarbank-plan.1
	install -D -m 0644 $(B)/completions/bash $(BASH_DIR)/oarbank-probe
	install -D -m 0644 $(B)/completions/zsh $(ZSH_DIR)/_oarbank-probe
	install -D -m 0644 $(B)/completions/fish $(FISH_DIR)/oarbank-probe.fish
	install -D -m 0644 -t $(DOC_DIR) README.md CHANGELOG.md docs/architecture.md docs/kernels.md docs/programs.md docs/supervision.md
	install -D -m 0644 -t $(DOC_DIR)/examples $(wildcard docs/examples/*) docs/oarbank-agent.service.example
	chmod 0755 $(DOC_DIR)/examples/oarbank.fact

uninstall-docs:
	rm -f $(foreach m,$(MANUALS),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m)))
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/oarbank-plan.1 $(BASH_DIR)/oarbank-probe $(ZSH_DIR)/_oarbank-probe $(FISH_DIR)/oarbank-probe.fish
	rm -rf $(DOC_DIR)

# Equal files give equal bytes: sorted, of nobody, of the time of the last commit. Without git, of a
# tarball's own files, whose times say when that was.
DIST := oarbank-probe-$(VERSION)
TARBALL := $(B)/$(DIST).tar.gz

dist: ## make the source tarball, the same bytes each time
	@mkdir -p $(B)
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
		git ls-files -z; \
	else \
		find . \( -path ./build -o -path ./$(B) -o -path ./debian -o -name __pycache__ \) -prune -o -type f -printf '%P\0'; \
	fi | LC_ALL=C sort -z >$(B)/dist.list
	@epoch=$${SOURCE_DATE_EPOCH-$$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)}; \
	tar --format=gnu --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' --mtime=@$$epoch --no-recursion \
		--transform='s,^,$(DIST)/,S' --null --files-from=$(B)/dist.list -cf $(TARBALL:.gz=)
	@gzip -9nf $(TARBALL:.gz=)
	@sha256sum $(TARBALL)

# The packages, in build/deb/. docs/debian is their debian/ directory. With BUILT=DIR the objects are
# those of that build directory, so that nothing is compiled: it says -b -nc in DEB_FLAGS, too.
deb: dist ## build the Debian packages
	@rm -rf $(B)/deb
	@mkdir -p $(B)/deb
	@tar -xf $(TARBALL) -C $(B)/deb
	@cp -a $(B)/deb/$(DIST)/docs/debian $(B)/deb/$(DIST)/debian
	$(if $(BUILT),@mkdir $(B)/deb/$(DIST)/build && cp -a $(addprefix $(BUILT)/,rel static pic) $(B)/deb/$(DIST)/build)
	@cd $(B)/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS="parallel=$$(nproc) $$DEB_BUILD_OPTIONS" \
		dpkg-buildpackage -us -uc $(DEB_FLAGS) >../build.log 2>&1 || { tail -40 ../build.log; exit 1; }
	@ls -l $(B)/deb/*.deb

check-package: deb ## test the packages of make deb, as root in a clean Debian too
	@tests/package/check_deb.sh $(B)/deb
	@tests/package/clean_root.sh $(B)/deb
