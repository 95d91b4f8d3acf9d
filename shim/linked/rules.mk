# libgdbcuda-call.a: what a hook library links to record calls of its own.

CALL_LIBRARY := build/libgdbcuda-call.a
ALL += $(CALL_LIBRARY)

$(CALL_LIBRARY): linked/call.c linked/gdbcuda_call.h linked/rules.mk
	@mkdir -p build/linked
	$(CC) -O2 -fPIC -Wall -Wextra $(WERROR) -c linked/call.c -o build/linked/call.o
	@rm -f $@
	@ar rcs $@ build/linked/call.o
