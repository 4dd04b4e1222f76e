# quench_multi_arch(<target> <source>...)
#
# Compiles the sources once for each instruction set (baseline, avx2, avx512; elsewhere than on x86-64 the baseline stands for all
# three) and links all of them into <target>. In each build the macro QUENCH_ARCH names a namespace: quench_baseline, quench_avx2,
# quench_avx512. What a source defines in it is visible to the rest of the program; every other symbol is made local, so that no
# inline function of Eigen or the standard library, compiled for AVX-512, can be picked by the linker for the whole program.
# core/cpu.hpp chooses at run time:
#
#   // kernels.cpp, compiled three times                    // main.cpp
#   namespace QUENCH_ARCH {                                 namespace quench_avx2 { extern const kernels table; }   // and the others
#   extern const kernels table{&quantize, ...};             const kernels& best = quench::best_of(quench_baseline::table,
#   }                                                                             quench_avx2::table, quench_avx512::table);
#
# Needs GNU ld (2.29 or newer) and objcopy. Sources must not rely on dynamic initialisation: it would run on every machine.
function(quench_multi_arch target)
  find_program(QUENCH_LD NAMES ld.bfd ld REQUIRED)
  find_program(QUENCH_OBJCOPY NAMES ${CMAKE_OBJCOPY} objcopy REQUIRED)
  set(baseline_flags)
  set(avx2_flags)
  set(avx512_flags)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    set(baseline_flags -march=x86-64)
    set(avx2_flags -march=x86-64-v3)
    set(avx512_flags -march=x86-64-v4 -mprefer-vector-width=512)
  endif()
  foreach(arch IN ITEMS baseline avx2 avx512)
    set(one ${target}_${arch})
    add_library(${one} OBJECT ${ARGN})
    target_link_libraries(${one} PRIVATE quench::quench)
    target_compile_definitions(${one} PRIVATE QUENCH_ARCH=quench_${arch} $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    target_include_directories(${one} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_compile_options(${one} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS> -fno-lto $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique> ${${arch}_flags})
    string(LENGTH quench_${arch} length)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${one}.o)
    add_custom_command(OUTPUT ${object} VERBATIM COMMAND_EXPAND_LISTS
      COMMAND ${QUENCH_LD} -r --force-group-allocation -o ${object}.all $<TARGET_OBJECTS:${one}>
      COMMAND ${QUENCH_OBJCOPY} --wildcard "--keep-global-symbol=_ZN${length}quench_${arch}*"
                                "--keep-global-symbol=_ZNK${length}quench_${arch}*" ${object}.all ${object}
      DEPENDS ${one} $<TARGET_OBJECTS:${one}> COMMENT "Making the symbols of ${one} local")
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${object})
  endforeach()
endfunction()
