# The stand-in libraries, into build/standin/. Their bodies are written for the versions named here, whatever version
# the rest of the shim is built for: a driver is newer than the programs that run over it.

STANDIN := build/standin
STANDIN_NVML := 13.5
STANDIN_LIBRARIES := libcuda.so.1 libnvidia-ml.so.1 libcudart.so.13 libcudart.so.12
STANDIN_LINKS := libcuda.so libnvidia-ml.so libcudart.so
STANDIN_FILES := $(addprefix $(STANDIN)/,$(STANDIN_LIBRARIES) $(STANDIN_LINKS))
STANDIN_COMMON := $(wildcard standin/common/*.c)

.PHONY: standin
standin: $(STANDIN_FILES)
ALL += $(STANDIN_FILES)

$(STANDIN)/libcuda.so $(STANDIN)/libnvidia-ml.so: $(STANDIN)/%.so: $(STANDIN)/%.so.1
	ln -sf $(<F) $@
$(STANDIN)/libcudart.so: $(STANDIN)/libcudart.so.13
	ln -sf $(<F) $@

# $(call standin_library,FILE,DIRECTORY of its sources,CUDA version,compiler arguments,linker arguments)
# Each library has a room of its own: the header of its version, what is generated, its objects. Functions begin as the
# vendor's do, with the frame pointer: hook libraries that overwrite entries know how to move that (Ubuntu's compiler
# would put an endbr64 in front).
define standin_library
$(1)_ROOM := $(STANDIN)/room/$(1)
$(1)_SOURCES := $$(wildcard standin/$(2)/*.c)
$(1)_OBJECTS := $$(patsubst standin/%.c,$$($(1)_ROOM)/%.o,$$($(1)_SOURCES) $$(STANDIN_COMMON))
$(1)_COMPILE = $$(CC) -I$$($(1)_ROOM) -Istandin $$(CFLAGS) -fvisibility=hidden -fcf-protection=none $(4) -c $$< -o $$@

$$($(1)_ROOM)/gdbcuda_api.h: $$(API_SOURCES)
	@mkdir -p $$(@D)/$(2) $$(@D)/common
	$$(GENERATE) -m gdbcuda.api.header --cuda $(3) --nvml $(STANDIN_NVML) > $$@

# The generator leaves a file alone that would not change, so that not everything is compiled again.
$$($(1)_ROOM)/generated: standin/generate.py $$(wildcard standin/*.py) $$($(1)_SOURCES) $$($(1)_ROOM)/gdbcuda_api.h
	$$(GENERATE) $$< $(2) $(3) $(STANDIN_NVML) $$(@D) $$($(1)_SOURCES)
	@touch $$@

$$($(1)_ROOM)/standin_$(2).c: $$($(1)_ROOM)/generated ;
# Not optimised, for that takes three times as long: a wrapper does little but call its body.
$$($(1)_ROOM)/standin_$(2).o: $$($(1)_ROOM)/standin_$(2).c standin/rules.mk
	$$($(1)_COMPILE)

$$($(1)_OBJECTS): $$($(1)_ROOM)/%.o: standin/%.c standin/rules.mk | $$($(1)_ROOM)/generated
	$$($(1)_COMPILE) -O1 -fno-omit-frame-pointer

# Both hash tables: some hook libraries look for the driver's functions in the older one (DT_HASH) by themselves.
$(STANDIN)/$(1): $$($(1)_OBJECTS) $$($(1)_ROOM)/standin_$(2).o standin/rules.mk
	$$(CC) -shared -pthread -Wl,-Bsymbolic -Wl,--no-undefined -Wl,--hash-style=both -Wl,-soname,$(1) $$(filter %.o,$$^) $(5) -ldl -o $$@
endef

$(eval $(call standin_library,libcuda.so.1,driver,13.0))
$(eval $(call standin_library,libnvidia-ml.so.1,nvml,13.0))
standin_cudart = $(call standin_library,$(1),runtime,$(2),-DSTANDIN_IS_RUNTIME,-Xlinker --version-script=$(STANDIN)/room/$(1)/runtime.map)
$(eval $(call standin_cudart,libcudart.so.13,13.0))
$(eval $(call standin_cudart,libcudart.so.12,12.9))
