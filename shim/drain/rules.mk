# gdbcuda-drain: what gdbcuda trace --all starts beside the program.

DRAIN := build/gdbcuda-drain
DRAIN_SOURCES := $(wildcard drain/*.c)

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
ALL += $(DRAIN)
endif

$(DRAIN): $(DRAIN_SOURCES) $(wildcard drain/*.h recorder/*.h trace/*.h) $(RING_LAYOUT) drain/rules.mk
	$(CC) -std=gnu11 -Wall -Wextra $(WERROR) -g -O2 -D_GNU_SOURCE -Idrain -Itrace -Irecorder -I$(AGENT_BUILD) -o $@ $(DRAIN_SOURCES)
