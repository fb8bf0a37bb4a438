# How tests, fuzzers and link tests are declared. Labels: unit sim threads canary headers layers
# install samples bench fuzz tidy (docs/building.md says what each stands for).
include(GoogleTest)
find_package(GTest CONFIG REQUIRED)

if(IRPVERBS_SANITIZE)
    set(IRPVERBS_TEST_TIMEOUT 300)
else()
    set(IRPVERBS_TEST_TIMEOUT 120)
endif()

# What every test includes, compiled once. Not where clang-tidy is run, which wants to see it.
if(NOT IRPVERBS_CLANG_TIDY)
    file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "")
    add_library(irpverbs_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(irpverbs_test_headers PRIVATE
        GTest::gmock_main irpverbs_sanitizers irpverbs_warnings)
    target_precompile_headers(irpverbs_test_headers PRIVATE <gtest/gtest.h> <gtest/gtest-spi.h>)
endif()

# What the sanitizers are told; in the environment, so that it also holds for a test's children.
set(IRPVERBS_TEST_ENVIRONMENT
    "ASAN_OPTIONS=strict_string_checks=1:detect_leaks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")

# Sets `result` when the thread sanitizer is on and has nothing to find: no source of the test
# starts a thread or names a machine that does.
function(irpverbs_needs_no_threads result)
    set(${result} FALSE PARENT_SCOPE)
    if(NOT IRPVERBS_SANITIZE STREQUAL thread)
        return()
    endif()
    foreach(source IN LISTS ARGN)
        file(STRINGS ${source} threads REGEX "BothMachines|BOTH_MACHINES|asio_machine|_thread" LIMIT_COUNT 1)
        if(threads)
            return()
        endif()
    endforeach()
    set(${result} TRUE PARENT_SCOPE)
endfunction()

# irpverbs_test(name SOURCES file... LIBS target... [LABELS label...] [TIMEOUT seconds])
# A GoogleTest program; each of its cases is a test of its own, called <name>/<Suite>.<Case>.
function(irpverbs_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBS;LABELS")
    if(NOT arg_LABELS)
        set(arg_LABELS unit)
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT ${IRPVERBS_TEST_TIMEOUT})
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE
        ${arg_LIBS} GTest::gmock_main irpverbs_sanitizers irpverbs_warnings)
    if(TARGET irpverbs_test_headers)
        target_precompile_headers(${name} REUSE_FROM irpverbs_test_headers)
    endif()
    irpverbs_needs_no_threads(left_out ${arg_SOURCES})
    if(left_out)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    gtest_discover_tests(${name} TEST_PREFIX ${name}/ TEST_LIST cases
        DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
    # gtest_discover_tests takes no property that is a list; ctest reads this file after its own.
    set(properties ${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake)
    file(WRITE ${properties} "set_tests_properties(\${cases} PROPERTIES LABELS \"${arg_LABELS}\" "
        "TIMEOUT ${arg_TIMEOUT} ENVIRONMENT \"${IRPVERBS_TEST_ENVIRONMENT}\")\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties})
endfunction()

# irpverbs_command_test(name LABELS label... COMMAND word...): any program that exits 0 when it passes.
function(irpverbs_command_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;COMMAND")
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}"
        TIMEOUT ${IRPVERBS_TEST_TIMEOUT} ENVIRONMENT "${IRPVERBS_TEST_ENVIRONMENT}")
endfunction()

# irpverbs_fuzzer(name SOURCES file... LIBS target... CORPUS folder)
# With libFuzzer (preset fuzz) a few seconds of fuzzing; otherwise a replay of the corpus.
function(irpverbs_fuzzer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;LIBS")
    cmake_path(ABSOLUTE_PATH arg_CORPUS)
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${arg_LIBS} irpverbs_sanitizers irpverbs_warnings)
    if(NOT TARGET fuzzers)
        add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
    if("fuzzer-no-link" IN_LIST IRPVERBS_SANITIZE)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        set(findings ${CMAKE_CURRENT_BINARY_DIR}/${name}.findings)
        file(MAKE_DIRECTORY ${findings})
        irpverbs_command_test(${name} LABELS fuzz COMMAND ${name} -max_total_time=10 -timeout=10
            -artifact_prefix=${findings}/ ${findings} ${arg_CORPUS})
    else()
        target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
        irpverbs_command_test(${name}.replay LABELS unit COMMAND ${name} ${arg_CORPUS})
    endif()
endfunction()

# Fails to link when a package uses anything that its DEPENDS do not give it.
function(irpverbs_link_test package)
    set(name link.${package})
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/link/main.cpp)
    target_link_libraries(${name} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,irpverbs_${package}>)
    irpverbs_command_test(${name} LABELS layers COMMAND ${name})
endfunction()

# Each *_test.cpp of this folder as the test program <package>_<file>.
function(irpverbs_unit_tests package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS")
    file(GLOB files CONFIGURE_DEPENDS *_test.cpp)
    foreach(file IN LISTS files)
        cmake_path(GET file STEM name)
        irpverbs_test(${package}_${name} SOURCES ${file} LIBS irpverbs::${package} ${arg_LIBS})
    endforeach()
endfunction()
