# Manual pages and completions, made by cmake/program-pages from what the programs say of themselves.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(NOT Python3_FOUND)
    message(STATUS "no Python 3: manual pages and completions are left out")
endif()

# irpverbs_program_pages(name program [MANUAL_ONLY])
# The pages of an installed program, which may be a script; cmake/manual/<name>.txt has what its --help does not
# say. MANUAL_ONLY: it has no options to complete. Not in builds with sanitizers, whose programs would run
# during the build.
function(irpverbs_program_pages name program)
    cmake_parse_arguments(PARSE_ARGV 2 arg "MANUAL_ONLY" "" "")
    if(NOT Python3_FOUND OR IRPVERBS_SANITIZE)
        return()
    endif()
    set(script ${PROJECT_SOURCE_DIR}/cmake/program-pages)
    set(texts ${PROJECT_SOURCE_DIR}/cmake/manual/${name}.txt)
    set(folder ${PROJECT_BINARY_DIR}/pages)
    set(pages ${folder}/${name}.1 ${folder}/${name} ${folder}/_${name})
    add_custom_command(OUTPUT ${pages}
        COMMAND ${Python3_EXECUTABLE} -B ${script} ${program} ${PROJECT_VERSION} ${texts} ${folder}
        DEPENDS ${program} ${script} ${texts} VERBATIM)
    add_custom_target(${name}_pages ALL DEPENDS ${pages})
    set_property(GLOBAL APPEND PROPERTY IRPVERBS_PROGRAMS ${program})
    install(FILES ${folder}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    if(arg_MANUAL_ONLY)
        return()
    endif()
    install(FILES ${folder}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${folder}/_${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endfunction()

# irpverbs_header_pages(package...)
# The pages of the packages' C headers, made by cmake/header-pages from their comments.
function(irpverbs_header_pages)
    if(NOT Python3_FOUND OR IRPVERBS_SANITIZE)
        return()
    endif()
    foreach(package IN LISTS ARGN)
        get_target_property(found irpverbs_${package} HEADER_SET)
        list(APPEND headers ${found})
    endforeach()
    list(FILTER headers INCLUDE REGEX "/include/[a-z_]+/(testing/)?[a-z_]+\\.h$")
    set(script ${PROJECT_SOURCE_DIR}/cmake/header-pages)
    set(folder ${PROJECT_BINARY_DIR}/pages/man3)
    set(done ${PROJECT_BINARY_DIR}/pages/man3.done)
    add_custom_command(OUTPUT ${done}
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
        COMMAND ${Python3_EXECUTABLE} -B ${script} ${PROJECT_VERSION} ${folder} ${headers}
        COMMAND ${CMAKE_COMMAND} -E touch ${done}
        DEPENDS ${script} ${headers} VERBATIM)
    add_custom_target(header_pages ALL DEPENDS ${done})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_MANDIR})
endfunction()
