# libgdbcuda-hook.so: the hand-written files of hook/, and wrappers for the rest of the API.

HOOK_BUILD := build/hook
HOOK_LIBRARY := build/libgdbcuda-hook.so
HOOK_SOURCES := $(wildcard hook/*.c)
HOOK_GENERATED := $(addprefix $(HOOK_BUILD)/,entries.c driver.c runtime.c nvml.c)
HOOK_OBJECTS := $(patsubst hook/%.c,$(HOOK_BUILD)/%.o,$(HOOK_SOURCES)) $(HOOK_GENERATED:.c=.o)
ALL += $(HOOK_LIBRARY) $(HOOK_LIBRARY)-gdbcuda.ini

# The adapter that gdbcuda reads beside the library.
build/%-gdbcuda.ini: hook/%-gdbcuda.ini
	@mkdir -p $(@D) && cp $< $@

HOOK_FLAGS := -fvisibility=hidden -I. -Ibuild

$(HOOK_BUILD)/entries.h: hook/generate.py $(HOOK_SOURCES) $(API_HEADER)
	$(GENERATE) hook/generate.py $(HOOK_BUILD) $(HOOK_SOURCES) $(VERSION_ARGUMENTS)

$(HOOK_GENERATED): $(HOOK_BUILD)/entries.h ;

# See dlsym.c: its last line has to become a jump.
$(HOOK_BUILD)/dlsym.o: HOOK_FLAGS += -O1 -foptimize-sibling-calls

HOOK_COMPILE = $(CC) $(CFLAGS) $(HOOK_FLAGS) -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(HOOK_GENERATED:.c=.o): %.o: %.c hook/rules.mk
	$(HOOK_COMPILE)

$(HOOK_BUILD)/%.o: hook/%.c hook/rules.mk $(HOOK_BUILD)/entries.h
	$(HOOK_COMPILE)

$(HOOK_LIBRARY): $(HOOK_OBJECTS)
# It stays: its watcher runs in it, and what it has handed out leads into it.
	$(CC) -shared -g -Wl,-z,nodelete -o $@ $^ -ldl -lpthread
