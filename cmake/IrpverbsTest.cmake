# How tests, fuzzers and link tests are declared. Labels: unit sim threads canary lab guest headers
# layers install samples bench fuzz tidy (docs/building.md says what each stands for).
include(GoogleTest)
find_package(GTest CONFIG REQUIRED)

set(IRPVERBS_TEST_TIMEOUT 600) # ends what hangs; a loaded machine is slow

# Only the packages and the tests of real threads are optimised: compiling the other tests takes longer
# than running them.
set(IRPVERBS_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)

# Headers that most tests include, compiled once.
file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "")
add_library(irpverbs_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
target_link_libraries(irpverbs_test_headers PRIVATE
    irpverbs::dispatch GTest::gmock_main irpverbs_programs)
target_compile_options(irpverbs_test_headers PRIVATE ${IRPVERBS_TEST_OPTIONS})
target_precompile_headers(irpverbs_test_headers PRIVATE
    <gtest/gtest.h> <gtest/gtest-spi.h> <boost/asio/co_spawn.hpp> <boost/asio/use_awaitable.hpp>
    <boost/asio/use_future.hpp> <boost/asio/as_tuple.hpp> <boost/asio/deferred.hpp>
    <boost/asio/thread_pool.hpp> <boost/asio/experimental/awaitable_operators.hpp>)

# For a program of tests whose own speed does not matter: it is not optimised, and uses these headers.
# Its sources, if given, are joined where that was asked for.
function(irpverbs_compile_quickly name)
    if(IRPVERBS_JOIN_TEST_SOURCES)
        irpverbs_join_sources(${name} ${ARGN})
    endif()
    target_compile_options(${name} PRIVATE ${IRPVERBS_TEST_OPTIONS})
    target_precompile_headers(${name} REUSE_FROM irpverbs_test_headers)
endfunction()

# Options of the sanitizers, in the environment so that a test's children get them too. An abandoned
# simulated run leaves frames behind whose memory is no leak: it has to lie on their stacks, where
# the leak check searches.
set(IRPVERBS_TEST_ENVIRONMENT
    "ASAN_OPTIONS=strict_string_checks=1:detect_leaks=1:detect_stack_use_after_return=0"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1")

# For the thread sanitizer, leaves those *_test.cpp out of the list in which it has nothing to find: no
# line starts a thread or names a machine that does.
function(irpverbs_keep_threaded list)
    if(NOT IRPVERBS_SANITIZE STREQUAL thread)
        return()
    endif()
    foreach(source IN LISTS ${list})
        file(STRINGS ${source} threads REGEX "BothMachines|BOTH_MACHINES|asio_machine|_thread" LIMIT_COUNT 1)
        if(source MATCHES "_test\\.cpp$" AND NOT threads)
            list(REMOVE_ITEM ${list} ${source})
        endif()
    endforeach()
    set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# The cases of a GoogleTest program as four tests. A process under AddressSanitizer begins slowly: one
# for each of 4,000 cases takes minutes. ThreadSanitizer allows no fork in a process with threads.
function(irpverbs_sharded_test name labels)
    foreach(shard RANGE 3)
        irpverbs_command_test(${name}.${shard} LABELS ${labels} COMMAND ${name} --gtest_brief=1)
        set_property(TEST ${name}.${shard} APPEND PROPERTY ENVIRONMENT
            GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=${shard})
        set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT 1200)
    endforeach()
endfunction()

# irpverbs_test(name SOURCES file... LIBS target... [LABELS label...] [TIMEOUT seconds] [THREADED])
# A GoogleTest program; each of its cases is a test of its own, called <name>/<Suite>.<Case>, except
# under AddressSanitizer. THREADED: a machine of threads runs beside every case.
function(irpverbs_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "THREADED" "TIMEOUT" "SOURCES;LIBS;LABELS")
    if(NOT arg_LABELS)
        set(arg_LABELS unit)
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT ${IRPVERBS_TEST_TIMEOUT})
    endif()
    set(sources ${arg_SOURCES})
    if(NOT arg_THREADED)
        irpverbs_keep_threaded(sources)
    endif()
    set(left_out FALSE)
    if(IRPVERBS_SANITIZE STREQUAL thread AND (NOT sources OR arg_LABELS MATCHES "canary|sim"))
        set(left_out TRUE)
        set(sources ${arg_SOURCES})
    endif()
    add_executable(${name} ${sources})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock_main irpverbs_programs)
    if(arg_LABELS MATCHES canary) # its drivers use each other's names
        irpverbs_compile_quickly(${name})
    elseif(NOT arg_LABELS STREQUAL threads)
        irpverbs_compile_quickly(${name} ${arg_SOURCES})
    endif()
    if(left_out)
        set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
        return()
    endif()
    if("address" IN_LIST IRPVERBS_SANITIZE)
        irpverbs_sharded_test(${name} "${arg_LABELS}")
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
    if(arg_LABELS MATCHES "lab|install")
        set_tests_properties(${name} PROPERTIES COST 100) # long ones begin first
    endif()
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

# The *_test.cpp of this folder as the program <package>_test.
function(irpverbs_unit_tests package)
    cmake_parse_arguments(PARSE_ARGV 1 arg "THREADED" "" "LIBS;LABELS")
    file(GLOB files CONFIGURE_DEPENDS *_test.cpp)
    set(threaded "")
    if(arg_THREADED)
        set(threaded THREADED)
    endif()
    irpverbs_test(${package}_test SOURCES ${files} LIBS irpverbs::${package} ${arg_LIBS}
        LABELS ${arg_LABELS} ${threaded})
endfunction()
