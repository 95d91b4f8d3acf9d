# libgdbcuda-hook.so: the hand-written files of hook/, and wrappers for the rest of the API.

HOOK_BUILD := build/hook
HOOK_LIBRARY := build/libgdbcuda-hook.so
HOOK_SOURCES := $(wildcard hook/*.c)
HOOK_GENERATED := $(addprefix $(HOOK_BUILD)/,entries.c driver.c runtime.c nvml.c)
HOOK_OBJECTS := $(patsubst hook/%.c,$(HOOK_BUILD)/%.o,$(HOOK_SOURCES)) $(HOOK_GENERATED:.c=.o)
ALL += $(HOOK_LIBRARY)

# No endbr64 in front of the nop: the first five bytes of a function are its own to replace.
MACHINE := $(shell $(CC) -dumpmachine)
HOOK_FLAGS := -fvisibility=hidden -fpatchable-function-entry=5 -I. -Ibuild $(if $(filter x86_64%,$(MACHINE)),-fcf-protection=none)

$(HOOK_BUILD)/entries.h: hook/generate.py $(HOOK_SOURCES) $(API_HEADER)
	$(GENERATE) hook/generate.py $(HOOK_BUILD) $(HOOK_SOURCES) $(VERSION_ARGUMENTS)

$(HOOK_GENERATED): $(HOOK_BUILD)/entries.h ;

# See dlsym.c: its last line has to become a jump.
$(HOOK_BUILD)/dlsym.o: HOOK_FLAGS += -O1 -foptimize-sibling-calls
$(HOOK_BUILD)/dlsym.o: NOP_FLAGS := --optimised

HOOK_COMPILE = $(CC) $(CFLAGS) $(HOOK_FLAGS) -MF $(@:.o=.d) -MT $@
define HOOK_OBJECT
	$(HOOK_COMPILE) -S -o $(@:.o=.s) $<
	$(if $(filter x86_64%,$(MACHINE)),$(PYTHON) hook/entry_nop.py $(@:.o=.s) $(NOP_FLAGS))
	$(CC) -c -o $@ $(@:.o=.s)
endef

$(HOOK_GENERATED:.c=.o): %.o: %.c hook/entry_nop.py
	$(HOOK_OBJECT)

$(HOOK_BUILD)/%.o: hook/%.c hook/entry_nop.py $(HOOK_BUILD)/entries.h
	$(HOOK_OBJECT)

$(HOOK_LIBRARY): $(HOOK_OBJECTS)
	$(CC) -shared -g -o $@ $^ -ldl -lpthread
