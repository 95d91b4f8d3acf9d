# libgdbcuda-gpu.so: what `gdbcuda trace --gpu` has libcuda load. Only where CUPTI's headers are; none are kept here. What a
# version of them that we have not seen breaks is this library alone: the rest is built.

GPU_LIBRARY := build/libgdbcuda-gpu.so
GPU_BUILD := build/gpu
GPU_LAYOUT := $(GPU_BUILD)/gpu_layout.h
GPU_SOURCES := $(wildcard gpu/*.c) $(GPU_BUILD)/causing.c
GPU_FLAGS := -std=c11 -Wall -Wextra $(WERROR) -g -O2 -fPIC -fvisibility=hidden -D_GNU_SOURCE -Igpu -I$(GPU_BUILD) -I$(AGENT_BUILD)

ifneq ($(MAKECMDGOALS),clean)
CUPTI_FLAGS := $(shell $(GENERATE) -m gdbcuda.gpu.cupti_files)
endif
ifneq ($(CUPTI_FLAGS),)
ALL += $(GPU_LIBRARY)
endif

$(GPU_LAYOUT): ../gdbcuda/gpu/gpu_layout.py ../gdbcuda/files/word_layout.py
	@mkdir -p $(@D)
	$(GENERATE) -m gdbcuda.gpu.gpu_layout > $@

$(GPU_BUILD)/causing.c: gpu/generate.py ../gdbcuda/gpu/causing.py $(API_SOURCES)
	@mkdir -p $(@D)
	$(GENERATE) gpu/generate.py > $@

$(GPU_LIBRARY): $(GPU_SOURCES) $(wildcard gpu/*.h) $(GPU_LAYOUT) $(RING_LAYOUT) gpu/rules.mk
	$(CC) $(GPU_FLAGS) $(CUPTI_FLAGS) -shared -Wl,-z,noexecstack,-z,defs,-z,nodelete,--build-id -o $@ $(GPU_SOURCES) -ldl -lpthread \
		|| { rm -f $@; echo "$(@F) cannot be built with this CUPTI: gdbcuda trace --gpu will not work" >&2; }
