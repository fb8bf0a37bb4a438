# Warnings and sanitizers as INTERFACE targets: users of the packages get no flag from here.

add_library(irpverbs_warnings INTERFACE)
target_compile_options(irpverbs_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<BOOL:${IRPVERBS_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651), and, once
    # it optimises, not that a coroutine's memory comes from the operator new beside its delete.
    target_compile_options(irpverbs_warnings INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-mismatched-new-delete>)
endif()

add_library(irpverbs_sanitizers INTERFACE)
if(IRPVERBS_SANITIZE)
    list(JOIN IRPVERBS_SANITIZE "," sanitizers)
    target_compile_options(irpverbs_sanitizers INTERFACE
        -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer
        # g++ takes the sanitizers' own code for a use of Asio's members before their construction.
        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(irpverbs_sanitizers INTERFACE -fsanitize=${sanitizers})
    if("thread" IN_LIST IRPVERBS_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Asio's fences: g++ warns in every source that includes it.
        target_compile_options(irpverbs_sanitizers INTERFACE -Wno-tsan)
    endif()
endif()

# Tests, samples and programs. Under a sanitizer GoogleTest's macros and option parsers are most of what
# there is to instrument, so these are neither optimised nor searched for null and misaligned
# pointers; the packages are.
add_library(irpverbs_programs INTERFACE)
target_link_libraries(irpverbs_programs INTERFACE irpverbs_sanitizers irpverbs_warnings)
if(IRPVERBS_SANITIZE)
    target_compile_options(irpverbs_programs INTERFACE -O0)
endif()
if("undefined" IN_LIST IRPVERBS_SANITIZE)
    target_compile_options(irpverbs_programs INTERFACE
        -fno-sanitize=null,alignment,object-size,vptr)
endif()

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_CXX_STANDARD 20)
    set(CMAKE_CXX_EXTENSIONS OFF)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    find_program(IRPVERBS_CCACHE ccache)
    if(IRPVERBS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        # Relative paths and any locale, so that a second clone or the clean root reuses objects; the
        # other sloppiness is what ccache needs for precompiled headers.
        set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                     CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,locale CCACHE_INODECACHE=1
                     ${IRPVERBS_CCACHE})
        set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
        set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    endif()
endif()

# clang-tidy on a target's sources. With ccache it runs in front of the compiler and the cache keeps its
# verdict with the object; the key has its version and options, and, in depend mode, the comments too.
if(IRPVERBS_CLANG_TIDY)
    find_program(IRPVERBS_CLANG_TIDY_PROGRAM clang-tidy REQUIRED)
    execute_process(COMMAND ${IRPVERBS_CLANG_TIDY_PROGRAM} --version
                    OUTPUT_VARIABLE tidy_version COMMAND_ERROR_IS_FATAL ANY)
    string(MD5 tidy_version "${tidy_version}")
endif()
function(irpverbs_use_clang_tidy target)
    if(NOT IRPVERBS_CCACHE)
        set_target_properties(${target} PROPERTIES
            CXX_CLANG_TIDY "${IRPVERBS_CLANG_TIDY_PROGRAM};--quiet;--warnings-as-errors=*")
        return()
    endif()
    set(prefix ${PROJECT_SOURCE_DIR}/cmake/compile-after-tidy)
    list(POP_BACK CMAKE_CXX_COMPILER_LAUNCHER ccache)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
        "${CMAKE_CXX_COMPILER_LAUNCHER};CLANG_TIDY=${IRPVERBS_CLANG_TIDY_PROGRAM};CCACHE_PREFIX=${prefix};CCACHE_DEPEND=1;CCACHE_NAMESPACE=${tidy_version};CCACHE_EXTRAFILES=${PROJECT_SOURCE_DIR}/.clang-tidy:${prefix};${ccache}")
endfunction()
