# Tilewright for CMake 3.20 and newer: find_package(tilewright).
#
#   tilewright::tilewright   the program
#   tilewright::runtime      libtilewright.a and its headers: tensor maps, NVRTC, cache, driver
#   tilewright::emu          libtilewright-emu.a: the emulator as a device
#
#   tilewright_add_kernel(TARGET SPEC FILE.lua [KERNEL NAME...] [ARCH sm_90a...] [SOURCE])
#
# adds the kernels of a spec, all or those named, to a target: NAME.c is compiled into it and NAME.h found by it. They
# hold cubins of these architectures, all of the spec's by default; with SOURCE CUDA text, which NAME_load compiles. A
# kernel is made anew where the spec, what it requires or the program has changed.
get_filename_component(_tilewright_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET tilewright::tilewright)
  find_package(Threads REQUIRED)
  add_executable(tilewright::tilewright IMPORTED)
  set_target_properties(tilewright::tilewright PROPERTIES IMPORTED_LOCATION ${_tilewright_prefix}/bin/tilewright)
  add_library(tilewright::runtime STATIC IMPORTED)
  set_target_properties(tilewright::runtime PROPERTIES
    IMPORTED_LOCATION ${_tilewright_prefix}/lib/libtilewright.a
    INTERFACE_INCLUDE_DIRECTORIES ${_tilewright_prefix}/include/tilewright
    INTERFACE_LINK_LIBRARIES "m;Threads::Threads;${CMAKE_DL_LIBS}")
  add_library(tilewright::emu STATIC IMPORTED)
  set_target_properties(tilewright::emu PROPERTIES
    IMPORTED_LOCATION ${_tilewright_prefix}/lib/libtilewright-emu.a
    INTERFACE_LINK_LIBRARIES tilewright::runtime)
endif()

function(tilewright_add_kernel target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SOURCE" "SPEC" "KERNEL;ARCH")
  if(NOT arg_SPEC OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "tilewright_add_kernel(${target} SPEC FILE.lua [KERNEL NAME...] [ARCH A...] [SOURCE]): "
      "SPEC is '${arg_SPEC}', and not understood is '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  get_filename_component(spec ${arg_SPEC} ABSOLUTE)
  get_filename_component(name ${arg_SPEC} NAME_WE)
  get_target_property(program tilewright::tilewright IMPORTED_LOCATION)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.tilewright)
  set(command ${program} build ${spec} -o ${folder})
  if(arg_SOURCE)
    set(command ${program} gen ${spec} -o ${folder})
  endif()
  if(arg_ARCH)
    list(JOIN arg_ARCH "," archs)
    list(APPEND command --arch ${archs})
  endif()
  # Which kernels and files there are, the spec knows: it is asked again where it changes.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
  set(rules ${folder}/${name}.ninja)
  execute_process(COMMAND ${command} --ninja ${rules} RESULT_VARIABLE status ERROR_VARIABLE said)
  if(status)
    message(FATAL_ERROR "${said}")
  endif()
  file(STRINGS ${rules} lines REGEX "^    ")
  set(outputs)
  set(found)
  foreach(line IN LISTS lines)
    if(line MATCHES "^    (.*[^$])( \\$|: tilewright .*)$")
      string(REGEX REPLACE "\\$([ :$])" "\\1" output "${CMAKE_MATCH_1}")
      list(APPEND outputs ${output})
    elseif(line MATCHES "^    kernel = (.*)")
      set(kernel ${CMAKE_MATCH_1})
      list(APPEND found ${kernel})
      if(NOT arg_KERNEL OR kernel IN_LIST arg_KERNEL)
        add_custom_command(
          OUTPUT ${outputs}
          COMMAND ${command} --kernel ${kernel} --depfile ${folder}/${kernel}.d
          DEPENDS ${spec} ${program}
          DEPFILE ${folder}/${kernel}.d
          COMMENT "tilewright ${kernel}"
          VERBATIM)
        target_sources(${target} PRIVATE ${folder}/${kernel}.c ${folder}/${kernel}.h)
      endif()
      set(outputs)
    endif()
  endforeach()
  foreach(kernel IN LISTS arg_KERNEL)
    if(NOT kernel IN_LIST found)
      message(FATAL_ERROR "tilewright_add_kernel(${target} ...): ${spec} has no kernel '${kernel}'; it has ${found}")
    endif()
  endforeach()
  target_include_directories(${target} PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
