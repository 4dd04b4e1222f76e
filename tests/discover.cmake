# cmake -DTESTS=<executable> -DLAYER=<name> -DLIST=<switches that list names> -DOUT=<file> -P discover.cmake
# Writes one add_test for each Catch2 test case. Label: the layer, or goldens-PART for a case tagged [goldens-PART].
# A case that prints "quench-skip:" and why is shown as skipped.
cmake_minimum_required(VERSION 3.21)
separate_arguments(LIST)

# Names are taken line by line: they may hold brackets and semicolons, which lists do not keep.
macro(next_line text line)
  string(FIND "${${text}}" "\n" end)
  string(SUBSTRING "${${text}}" 0 ${end} ${line})
  math(EXPR end "${end} + 1")
  string(SUBSTRING "${${text}}" ${end} -1 ${text})
endmacro()

set(script "")
foreach(label IN ITEMS ${LAYER} goldens-formats goldens-optim goldens-nn goldens-ptq)
  if(label STREQUAL LAYER)
    set(spec "~[goldens-formats]~[goldens-optim]~[goldens-nn]~[goldens-ptq]")
  else()
    set(spec "[${label}]")
  endif()
  execute_process(COMMAND ${TESTS} ${spec} ${LIST} OUTPUT_VARIABLE names ERROR_VARIABLE trouble)
  if(trouble)
    message(FATAL_ERROR "${TESTS} cannot list its tests: ${trouble}")
  endif()
  while(names MATCHES "\n")
    next_line(names name)
    if(NOT name STREQUAL "")
      string(REGEX REPLACE "([][,\\])" "\\\\\\1" pattern "${name}")
      string(APPEND script
        "add_test([==[${LAYER}: ${name}]==] [==[${TESTS}]==] [==[${pattern}]==])\n"
        "set_tests_properties([==[${LAYER}: ${name}]==] PROPERTIES LABELS ${label} TIMEOUT 300 SKIP_REGULAR_EXPRESSION quench-skip:)\n")
    endif()
  endwhile()
endforeach()
if(script STREQUAL "")
  message(FATAL_ERROR "${TESTS} holds no tests")
endif()
file(WRITE ${OUT} "${script}")
