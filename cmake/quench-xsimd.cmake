# Gives a target xsimd's headers, or the definition that says to do without. Used by the build and by the installed package.
# Headers only, not target_link_libraries(xsimd): Debian's package makes that ask for -lxtl.
function(quench_use_xsimd target)
  if(NOT QUENCH_WITH_XSIMD)
    target_compile_definitions(${target} INTERFACE QUENCH_NO_XSIMD)
    return()
  endif()
  find_path(QUENCH_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp DOC "The folder that holds xsimd/xsimd.hpp")
  if(NOT QUENCH_XSIMD_INCLUDE_DIR)
    message(WARNING "quench: xsimd/xsimd.hpp is not found, so every loop is scalar and slow. Install xsimd (libxsimd-dev), set "
                    "QUENCH_XSIMD_INCLUDE_DIR, or say QUENCH_WITH_XSIMD=OFF.")
    target_compile_definitions(${target} INTERFACE QUENCH_NO_XSIMD)
  elseif(NOT QUENCH_XSIMD_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    target_include_directories(${target} SYSTEM INTERFACE $<BUILD_INTERFACE:${QUENCH_XSIMD_INCLUDE_DIR}>)
  endif()
endfunction()
