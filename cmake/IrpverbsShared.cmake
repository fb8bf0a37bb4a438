# libirpverbs.so: the packages as one shared library. docs/decisions/releases.md.

# irpverbs_shared_library(package...)
# The target irpverbs_shared, linked from the objects of the packages' static libraries. It exports the
# symbols that cmake/abi/irpverbs.symbols lists and no others. Installed it is irpverbs::irpverbs of the
# form `shared` (cmake/irpverbs-config.cmake.in).
function(irpverbs_shared_library)
    set(version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    set(list ${PROJECT_SOURCE_DIR}/cmake/abi/irpverbs.symbols)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
    file(STRINGS ${list} symbols REGEX "^[^#]")
    list(JOIN symbols ";\n" symbols)
    set(map ${PROJECT_BINARY_DIR}/irpverbs.map)
    file(CONFIGURE OUTPUT ${map} CONTENT "IRPVERBS_${version} { global:\n${symbols};\nlocal: *; };\n")

    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:irpverbs_\\1>" OUTPUT_VARIABLE objects)
    list(TRANSFORM ARGN PREPEND irpverbs_ OUTPUT_VARIABLE archives)
    add_library(irpverbs_shared SHARED ${objects})
    set_target_properties(irpverbs_shared PROPERTIES
        OUTPUT_NAME irpverbs EXPORT_NAME irpverbs
        VERSION ${PROJECT_VERSION} SOVERSION ${version}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
        LINKER_LANGUAGE CXX LINK_DEPENDS ${map})
    # nodelete: threads of the machine outlive a dlclose. The archives add what the objects are linked with.
    target_link_options(irpverbs_shared PRIVATE LINKER:--version-script=${map} LINKER:-Bsymbolic-functions
                                                LINKER:-z,nodelete LINKER:-z,defs LINKER:--as-needed)
    target_link_libraries(irpverbs_shared PRIVATE ${archives} INTERFACE Boost::headers Threads::Threads)
    target_include_directories(irpverbs_shared INTERFACE
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/irpverbs>)
    target_compile_features(irpverbs_shared INTERFACE cxx_std_20)
    install(TARGETS irpverbs_shared EXPORT irpverbs-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT irpverbs-shared NAMESPACE irpverbs:: FILE irpverbs-shared-targets.cmake
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/irpverbs)
endfunction()
