# libgdbcuda.so: what gdbcuda preloads into the program beside a hook library. It needs no libc, starts nothing, and
# defines no name that anybody else has. Only for the machine that guards are made for.

AGENT_LIBRARY := build/libgdbcuda.so
AGENT_BUILD := build/agent
AGENT_SOURCES := agent/guards.S trace/files.c trace/ring_files.c trace/python.c trace/python_frames.c trace/python_memory.c $(wildcard recorder/*.S recorder/*.c)
RING_LAYOUT := $(AGENT_BUILD)/ring_layout.h
RECORDED_WORDS := build/recorded-words.json

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
ALL += $(AGENT_LIBRARY) $(RECORDED_WORDS)
endif

# Code that runs inside calls of the program: no vector registers, nothing that the compiler takes from a library.
AGENT_FLAGS := -std=gnu11 -Wall -Wextra $(WERROR) -g -O2 -fPIC -I$(AGENT_BUILD) -ffreestanding -fno-builtin \
	-mgeneral-regs-only -fno-stack-protector -fcf-protection=none -fno-tree-loop-distribute-patterns \
	-fvisibility=hidden -fasynchronous-unwind-tables -D_GNU_SOURCE

$(RING_LAYOUT): ../gdbcuda/rings/ring_layout.py ../gdbcuda/files/word_layout.py
	@mkdir -p $(@D)
	$(GENERATE) -m gdbcuda.rings.ring_layout > $@

$(RECORDED_WORDS): agent/recorded_words.py ../gdbcuda/rings/prepared_words.py ../gdbcuda/rings/ring_functions.py ../gdbcuda/rings/ring_layout.py ../gdbcuda/machine/abi.py ../gdbcuda/gpu/causing.py $(API_SOURCES)
	$(GENERATE) agent/recorded_words.py > $@.new && mv $@.new $@

$(AGENT_LIBRARY): $(AGENT_SOURCES) $(wildcard recorder/*.h trace/*.h) $(RING_LAYOUT) agent/rules.mk
	$(CC) $(AGENT_FLAGS) -Irecorder -Itrace -shared -nostdlib -Wl,-z,noexecstack,-z,defs,-z,nodelete,--build-id -o $@ $(AGENT_SOURCES)
