# find_package(gdbcuda) makes gdbcuda::call, for GDBCUDA_CALL of gdbcuda_call.h (-Dgdbcuda_DIR=the folder of this file).
get_filename_component(gdbcuda_library "${CMAKE_CURRENT_LIST_DIR}/../build/libgdbcuda-call.a" ABSOLUTE)
if(NOT EXISTS "${gdbcuda_library}")
  set(gdbcuda_FOUND FALSE)
  set(gdbcuda_NOT_FOUND_MESSAGE "${gdbcuda_library} is not built: gdbcuda demo --build-only does that")
  return()
endif()
if(NOT TARGET gdbcuda::call)
  add_library(gdbcuda::call STATIC IMPORTED)
  set_target_properties(gdbcuda::call PROPERTIES
    IMPORTED_LOCATION "${gdbcuda_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}")
endif()
