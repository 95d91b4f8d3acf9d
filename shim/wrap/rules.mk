# libgdbcuda-wrap.a: what `gdbcuda wrap-flags` links into a program. Not among what `make` builds: it takes ten seconds.

WRAP_LIBRARY := build/libgdbcuda-wrap.a
WRAP_BUILD := build/wrap

.PHONY: wrap
wrap: $(WRAP_LIBRARY)

$(WRAP_LIBRARY): wrap/generate.py wrap/begin.c $(API_SOURCES)
	@rm -rf $(WRAP_BUILD) $@
	$(GENERATE) wrap/generate.py $(WRAP_BUILD)
	$(CC) -O2 -fPIC -Wall -Wextra $(WERROR) -c wrap/begin.c -o $(WRAP_BUILD)/begin.o
	@cd $(WRAP_BUILD) && $(CC) -c *.s
	@ar rcs $@ $(WRAP_BUILD)/*.o
	@rm -rf $(WRAP_BUILD)
