# Drop-in libraries: shared libraries under the file name of another project's library, for programs that
# were built against that one. docs/decisions/drop-in.md.

# irpverbs_as_drop_in(target file map)
# The file name of a shared library, its place (LD_LIBRARY_PATH names that folder, in a build tree and after
# an install), and the version script that says what it exports.
function(irpverbs_as_drop_in target file map)
    set_target_properties(${target} PROPERTIES
        PREFIX "" SUFFIX "" OUTPUT_NAME ${file}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/irpverbs
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
        C_STANDARD 11
        LINK_DEPENDS ${map})
    # nodelete: threads of the machine outlive a dlclose.
    target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:-z,nodelete LINKER:-z,defs
                                          LINKER:--enable-new-dtags LINKER:--as-needed)
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/irpverbs)
endfunction()

# irpverbs_drop_in(package file)
# The library `file` of the package, if this build has that: the core gets the package's archive, and
# the library consists of <folder of the package>/library/*.c, linked with the core alone.
# library/<file>.map is its version script.
function(irpverbs_drop_in package file)
    if(NOT TARGET irpverbs::${package})
        return()
    endif()
    get_target_property(folder irpverbs_${package} SOURCE_DIR)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/library/*.c)
    set(target irpverbs_drop_in_${package})
    add_library(${target} SHARED ${sources})
    target_include_directories(${target} PRIVATE
        $<TARGET_PROPERTY:irpverbs_${package},INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(${target} PRIVATE irpverbs_drop_in_core irpverbs_warnings Threads::Threads)
    target_link_libraries(irpverbs_drop_in_core PRIVATE irpverbs_${package})
    # Also where another package brings it in.
    set_property(TARGET irpverbs_drop_in_core PROPERTY LINK_LIBRARY_OVERRIDE_irpverbs_${package} WHOLE_ARCHIVE)
    irpverbs_as_drop_in(${target} ${file} ${folder}/library/${file}.map)
endfunction()
