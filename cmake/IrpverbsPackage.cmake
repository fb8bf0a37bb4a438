# Up to ten sources of a folder are compiled as one, so the names of their file scopes must differ. Not
# those that set SKIP_UNITY_BUILD_INCLUSION.
function(irpverbs_join_sources target)
    foreach(source IN LISTS ARGN)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(GET folder FILENAME name)
        list(APPEND in_${name} ${source})
        list(LENGTH in_${name} count)
        math(EXPR batch "(${count} - 1) / 10")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${batch})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# irpverbs_package(name SOURCES file... HEADERS file... [DEPENDS target...] [PRIVATE_DEPENDS target...]
#                  [FOLDER folder] [KEEP symbol] [APART | STATIC])
#
# One package of the project: the static library irpverbs_<name>, known as irpverbs::<name> here and
# after an install. HEADERS are public, below <folder>/include; each is also compiled alone
# (target all_verify_interface_header_sets). DEPENDS are visible to users of the headers.
# KEEP: forces the linker to keep the object file that defines this symbol.
# APART: not part of irpverbs::irpverbs, and installed as irpverbs-<name>-targets.cmake, which the
# CMake package includes when it finds what that needs. STATIC: not part of libirpverbs.so.
# Also makes a program that links the whole archive and nothing but its DEPENDS.
function(irpverbs_package name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "APART;STATIC" "FOLDER;KEEP" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_HEADERS)
        message(FATAL_ERROR "irpverbs_package(${name}): needs SOURCES and HEADERS; "
                            "does not know '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    set(library irpverbs_${name})
    add_library(${library} STATIC ${arg_SOURCES})
    add_library(irpverbs::${name} ALIAS ${library})
    set(tables ${arg_HEADERS}) # a *.def is included for its rows and means nothing alone
    list(FILTER tables INCLUDE REGEX "\\.def$")
    list(FILTER arg_HEADERS EXCLUDE REGEX "\\.def$")
    target_sources(${library} PUBLIC
        FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS}
        FILE_SET tables TYPE HEADERS BASE_DIRS include FILES ${tables})
    target_include_directories(${library} PRIVATE src)
    # Its schedules do not depend on the build type: see docs/decisions/one-body.md.
    target_compile_definitions(${library} PRIVATE IRPVERBS_OWN_SOURCES)
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_link_libraries(${library}
        PUBLIC ${arg_DEPENDS} $<BUILD_INTERFACE:irpverbs_sanitizers>
        PRIVATE ${arg_PRIVATE_DEPENDS} $<BUILD_INTERFACE:irpverbs_warnings>)
    set_target_properties(${library} PROPERTIES
        EXPORT_NAME ${name}
        FOLDER "${arg_FOLDER}"
        VERIFY_INTERFACE_HEADER_SETS ON
        INTERFACE_HEADER_SETS_TO_VERIFY HEADERS
        POSITION_INDEPENDENT_CODE ON
        C_VISIBILITY_PRESET hidden
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    if(arg_KEEP)
        target_link_options(${library} INTERFACE LINKER:--undefined=${arg_KEEP})
        set_property(GLOBAL APPEND_STRING PROPERTY IRPVERBS_PC_KEEP
            "-Wl,--undefined=${arg_KEEP} ")
    endif()
    if(IRPVERBS_JOIN_SOURCES)
        irpverbs_join_sources(${library} ${arg_SOURCES})
    endif()
    if(IRPVERBS_CLANG_TIDY)
        irpverbs_use_clang_tidy(${library})
    endif()
    set(export irpverbs)
    if(arg_APART)
        set(export irpverbs-${name})
        install(EXPORT ${export} NAMESPACE irpverbs:: FILE ${export}-targets.cmake
                DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/irpverbs)
    else()
        set_property(GLOBAL APPEND PROPERTY IRPVERBS_PACKAGES ${name})
        if(NOT arg_STATIC)
            set_property(GLOBAL APPEND PROPERTY IRPVERBS_SHARED_PACKAGES ${name})
        endif()
    endif()
    install(TARGETS ${library} EXPORT ${export}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/irpverbs
        FILE_SET tables DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/irpverbs)

    if(IRPVERBS_BUILD_TESTS)
        irpverbs_link_test(${name})
    endif()
endfunction()

# After the last package: irpverbs::irpverbs (all of them), libirpverbs.so, the CMake package, and for
# pkg-config irpverbs.pc (the shared library, if this build has one) and irpverbs-static.pc.
function(irpverbs_install)
    get_property(packages GLOBAL PROPERTY IRPVERBS_PACKAGES)
    get_property(IRPVERBS_HAVE_RDMA_CORE GLOBAL PROPERTY IRPVERBS_HAVE_RDMA_CORE)
    add_library(irpverbs_irpverbs INTERFACE)
    add_library(irpverbs::irpverbs ALIAS irpverbs_irpverbs)
    set_target_properties(irpverbs_irpverbs PROPERTIES EXPORT_NAME irpverbs)
    list(TRANSFORM packages PREPEND irpverbs_ OUTPUT_VARIABLE libraries)
    target_link_libraries(irpverbs_irpverbs INTERFACE ${libraries})
    install(TARGETS irpverbs_irpverbs EXPORT irpverbs)
    get_property(shared_packages GLOBAL PROPERTY IRPVERBS_SHARED_PACKAGES)
    if(IRPVERBS_BUILD_SHARED)
        irpverbs_shared_library(${shared_packages})
    endif()
    irpverbs_header_pages(${shared_packages})

    include(CMakePackageConfigHelpers)
    set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/irpverbs)
    install(EXPORT irpverbs NAMESPACE irpverbs:: FILE irpverbs-static-targets.cmake
            DESTINATION ${config_dir})
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/irpverbs-config.cmake.in
        ${PROJECT_BINARY_DIR}/irpverbs-config.cmake INSTALL_DESTINATION ${config_dir})
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/irpverbs-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/irpverbs-config.cmake
                  ${PROJECT_BINARY_DIR}/irpverbs-config-version.cmake DESTINATION ${config_dir})

    irpverbs_install_pkg_config("${libraries}")

    # The folders stand as in the source tree, for the links from one to the other.
    foreach(folder IN ITEMS docs samples)
        install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_DOCDIR})
    endforeach()
    install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
            DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()

# The *.pc files; `libraries` are the static ones in layer order.
function(irpverbs_install_pkg_config libraries)
    # A C linker reads from left to right: users before what they use.
    list(REVERSE libraries)
    list(TRANSFORM libraries PREPEND -l)
    list(JOIN libraries " " pc_static)
    set(pc_outside "")
    if(IRPVERBS_HAVE_LIBDW)
        string(APPEND pc_outside "-ldw ")
    endif()
    if(IRPVERBS_HAVE_RDMA_CORE)
        string(APPEND pc_outside "-libverbs -libumad ")
    endif()
    get_property(pc_keep GLOBAL PROPERTY IRPVERBS_PC_KEEP)
    set(pc_static "${pc_keep}${pc_static} -lboost_context ${pc_outside}-lstdc++ -lm -pthread")
    file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    set(pc_libraries ${pc_static})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/irpverbs.pc.in ${PROJECT_BINARY_DIR}/irpverbs-static.pc @ONLY)
    if(TARGET irpverbs_shared)
        set(pc_libraries -lirpverbs)
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/irpverbs.pc.in ${PROJECT_BINARY_DIR}/irpverbs.pc @ONLY)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/irpverbs-windows.pc.in
                   ${PROJECT_BINARY_DIR}/irpverbs-windows.pc @ONLY)
    foreach(name IN ITEMS irpverbs irpverbs-static irpverbs-windows)
        install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
endfunction()
