# libgdbcuda.so: what gdbcuda preloads into the program beside a hook library. It needs no libc, starts nothing, and
# defines no name that anybody else has. Only for the machine that guards are made for.

AGENT_LIBRARY := build/libgdbcuda.so

ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
ALL += $(AGENT_LIBRARY)
endif

$(AGENT_LIBRARY): agent/guards.S agent/rules.mk
	@mkdir -p $(@D)
	$(CC) -Wall -Wextra $(WERROR) -shared -nostdlib -Wl,-z,noexecstack,-z,defs,--build-id -o $@ $<
