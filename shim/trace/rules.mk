# libgdbcuda-trace.so: the recorder with what leads calls to it where no debugger does. It needs no libc, and exports
# nothing but what the loader asks a library that audits it for. Only for the machine that the recorder is made for.

TRACE_LIBRARY := build/libgdbcuda-trace.so
TRACE_BUILD := build/trace
TRACE_SOURCES := $(wildcard recorder/*.S recorder/*.c trace/*.S trace/*.c) $(TRACE_BUILD)/functions.c

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
ALL += $(TRACE_LIBRARY)
endif

$(TRACE_BUILD)/functions.c: trace/generate.py ../gdbcuda/rings/ring_functions.py ../gdbcuda/rings/ring_layout.py $(wildcard ../gdbcuda/cpython/*.py) ../gdbcuda/rings/python_words.py $(API_SOURCES)
	@mkdir -p $(@D)
	$(GENERATE) trace/generate.py > $@

$(TRACE_LIBRARY): $(TRACE_SOURCES) $(wildcard recorder/*.h trace/*.h) $(RING_LAYOUT) trace/rules.mk agent/rules.mk
	$(CC) $(AGENT_FLAGS) -Irecorder -Itrace -shared -nostdlib -Wl,-z,noexecstack,-z,defs,-z,now,--build-id -o $@ $(TRACE_SOURCES)
