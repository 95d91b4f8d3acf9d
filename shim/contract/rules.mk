# What `gdbcuda conform` runs: a program that makes the calls it is told, linked against the driver, and one that loads it.
# -z now: a slot says where it leads before it is called.

CONTRACT := build/contract
CONTRACT_SOURCES := $(wildcard contract/*.c)
CONTRACT_OBJECTS := $(patsubst contract/%.c,$(CONTRACT)/%.o,$(CONTRACT_SOURCES)) $(CONTRACT)/callers.o
CONTRACT_COMPILE = $(CC) $(CFLAGS) -I. -Ibuild -fPIE -c -o $@ $<

.PHONY: contract
contract: $(CONTRACT)/linked $(CONTRACT)/loading $(STANDIN_FILES)
ALL += $(CONTRACT)/linked $(CONTRACT)/loading

$(CONTRACT)/callers.c: contract/generate.py $(API_HEADER)
	@mkdir -p $(@D)
	$(GENERATE) contract/generate.py $(@D) $(VERSION_ARGUMENTS)
$(CONTRACT)/linked.c: $(CONTRACT)/callers.c ;

$(CONTRACT)/callers.o: $(CONTRACT)/callers.c contract/contract.h contract/rules.mk
	$(CONTRACT_COMPILE)
$(CONTRACT)/linked.o: $(CONTRACT)/linked.c contract/rules.mk
	$(CONTRACT_COMPILE)
$(CONTRACT)/%.o: contract/%.c contract/rules.mk $(CONTRACT)/callers.c
	$(CONTRACT_COMPILE)

$(CONTRACT)/loading: $(CONTRACT_OBJECTS)
	$(CC) -pie -o $@ $^ -ldl -lpthread
$(CONTRACT)/linked: $(CONTRACT_OBJECTS) $(CONTRACT)/linked.o $(STANDIN_FILES)
	$(CC) -pie -Wl,-z,now -o $@ $(filter %.o,$^) -L$(STANDIN) -Wl,--no-as-needed -lcuda -lnvidia-ml -l:libcudart.so.13 -Wl,--allow-shlib-undefined -ldl -lpthread
