# The programs and the small hook libraries. Linked without rpath against the stand-in: whatever libcuda.so.1 the
# loader finds is used, LD_LIBRARY_PATH=build/standin for the stand-in.

LINK_STANDIN := -Lbuild/standin
DRIVER_PROGRAMS := test_alloc families threads fork_exec proc_address stream_alloc train wrong_memory calls
LOADING_PROGRAMS := dlsym_alloc nvml_dlopen deepbind
PROGRAMS := $(DRIVER_PROGRAMS) $(LOADING_PROGRAMS) nvml_info runtime_alloc next_order static_program
LIBRARIES := plain_plugin.so deepbind_plugin.so liborder_a.so liborder_b.so
HOOKS := minimal_hook.so forgetful_hook.so region_hook.so quota_hook.so hook_first.so hook_second.so
WRONG := $(patsubst sample/%.c,%.so,$(wildcard sample/wrong/*.c))
WRONG_IN_GROUPS := $(patsubst sample/%.c,%.so,$(wildcard sample/wrong/*/*.c))

# cuGetProcAddress_v2 came with CUDA 12.
ifneq ($(filter 11 11.%,$(CUDA)),)
DRIVER_PROGRAMS := $(filter-out proc_address,$(DRIVER_PROGRAMS))
PROGRAMS := $(filter-out proc_address,$(PROGRAMS))
WRONG := $(filter-out wrong/version_ignored.so,$(WRONG))
WRONG_IN_GROUPS := $(filter-out $(patsubst %,wrong/resolving/%.so,version_fixed flags_ignored calls_another turns),$(WRONG_IN_GROUPS))
endif
WRONG += $(WRONG_IN_GROUPS)

SAMPLE := build/sample
ALL += $(addprefix $(SAMPLE)/,$(LIBRARIES) $(HOOKS) $(WRONG) $(PROGRAMS) region_hook.so-gdbcuda.ini)
CUDA_PROGRAMS += $(SAMPLE)/vector_add $(SAMPLE)/gpu_work

# What gcc is given beside CFLAGS, per target. The defaults come first.
SAMPLE_FLAGS =
SAMPLE_LIBRARIES = -ldl

$(addprefix $(SAMPLE)/,$(DRIVER_PROGRAMS) plain_plugin.so deepbind_plugin.so): SAMPLE_LIBRARIES = $(LINK_STANDIN) -lcuda -ldl
$(addprefix $(SAMPLE)/,$(DRIVER_PROGRAMS) plain_plugin.so deepbind_plugin.so): build/standin/libcuda.so
$(SAMPLE)/threads $(SAMPLE)/train: SAMPLE_LIBRARIES += -lpthread
$(SAMPLE)/region_hook.so: SAMPLE_LIBRARIES += -lpthread
$(SAMPLE)/nvml_info: SAMPLE_LIBRARIES = $(LINK_STANDIN) -lnvidia-ml
$(SAMPLE)/nvml_info: build/standin/libnvidia-ml.so
$(SAMPLE)/runtime_alloc: SAMPLE_LIBRARIES = $(LINK_STANDIN) -lcudart -Wl,--allow-shlib-undefined
$(SAMPLE)/runtime_alloc: build/standin/libcudart.so
$(SAMPLE)/next_order: SAMPLE_LIBRARIES = -L$(SAMPLE) -lorder_a -lorder_b
$(SAMPLE)/next_order: $(SAMPLE)/liborder_a.so $(SAMPLE)/liborder_b.so
$(SAMPLE)/static_program: SAMPLE_FLAGS = -static
$(SAMPLE)/hook_first.so: SAMPLE_FLAGS = -O1 -foptimize-sibling-calls -DHOOK_NAME='"hook_first"' -Wl,-Bsymbolic-functions
$(SAMPLE)/hook_second.so: SAMPLE_FLAGS = -O1 -foptimize-sibling-calls -DHOOK_NAME='"hook_second"' -Wl,-Bsymbolic-functions

$(addprefix $(SAMPLE)/,quota_hook.so $(WRONG_IN_GROUPS)): SAMPLE_FLAGS = -I.
$(addprefix $(SAMPLE)/,quota_hook.so $(WRONG_IN_GROUPS)): SAMPLE_LIBRARIES = -ldl -lpthread

# What makes each wrong library wrong, where it is the build and not the source.
$(SAMPLE)/wrong/only_dlsym.so: SAMPLE_FLAGS = -O2 -g0 -fvisibility=hidden -s
$(SAMPLE)/wrong/hidden.so: SAMPLE_FLAGS = -fvisibility=hidden
$(SAMPLE)/wrong/no_debug.so: SAMPLE_FLAGS = -g0
$(SAMPLE)/wrong/recursing_dlsym.so: SAMPLE_FLAGS = -Wno-infinite-recursion
$(SAMPLE)/wrong/transparent/short_name.so: SAMPLE_FLAGS += -fno-stack-protector

# -z lazy: the gcc of some distributions binds everything at the start, and then no route is "not called yet".
BUILD_SAMPLE = @mkdir -p $(@D) $(SAMPLE)/depend && $(CC) $(CFLAGS) -Wl,-z,lazy $(SAMPLE_FLAGS) -MF $(SAMPLE)/depend/$(@F).d -MT $@ -o $@ $<

$(addprefix $(SAMPLE)/,$(PROGRAMS)): $(SAMPLE)/%: sample/%.c $(API_HEADER)
	$(BUILD_SAMPLE) -Wl,--no-as-needed $(SAMPLE_LIBRARIES)

$(addprefix $(SAMPLE)/,minimal_hook.so forgetful_hook.so region_hook.so quota_hook.so $(WRONG)): $(SAMPLE)/%.so: sample/%.c $(API_HEADER)
	$(BUILD_SAMPLE) -shared $(SAMPLE_LIBRARIES)

$(SAMPLE)/hook_first.so $(SAMPLE)/hook_second.so: sample/stacked_hook.c $(API_HEADER)
	$(BUILD_SAMPLE) -shared $(SAMPLE_LIBRARIES)

$(SAMPLE)/plain_plugin.so $(SAMPLE)/deepbind_plugin.so: sample/deepbind_plugin.c $(API_HEADER)
	$(BUILD_SAMPLE) -shared $(SAMPLE_LIBRARIES)

$(SAMPLE)/liborder_a.so $(SAMPLE)/liborder_b.so: $(SAMPLE)/lib%.so: sample/%.c
	$(BUILD_SAMPLE) -shared -Wl,-soname,$(@F) $(SAMPLE_LIBRARIES)

$(SAMPLE)/vector_add $(SAMPLE)/gpu_work: $(SAMPLE)/%: sample/%.cu
	@mkdir -p $(@D)
	nvcc -g -O0 --cudart shared -o $@ $<

$(SAMPLE)/%-gdbcuda.ini: sample/%-gdbcuda.ini
	@mkdir -p $(@D) && cp $< $@
