# Packages, made in the folder of a finished build: `cpack -G DEB` and `cpack -G TGZ`.
#   impactlab      program, Python module, data, manual page, completions
#   impactlab-dev  headers, static libraries and the files of find_package(ImpactLab)
# Two packages, so that users do not get fifty megabytes of libraries and the development packages these depend on.

# The manual page and the completions are what the program says of itself.
find_program(IMPACTLAB_MANUAL_PYTHON NAMES python3 DOC "Python that makes the manual page")
if(IMPACTLAB_MANUAL_PYTHON)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  set(script ${PROJECT_SOURCE_DIR}/pipelines/install/manual.py)
  add_custom_command(OUTPUT ${manual}/impactlab.1.gz ${manual}/completion.bash ${manual}/completion.zsh ${manual}/completion.fish
    COMMAND ${IMPACTLAB_MANUAL_PYTHON} ${script} $<TARGET_FILE:impactlab> ${PROJECT_VERSION} ${manual}
    DEPENDS impactlab ${script} COMMENT "Manual page and completions" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/impactlab.1.gz)
  install(FILES ${manual}/impactlab.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${manual}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME impactlab
          COMPONENT program)
  install(FILES ${manual}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _impactlab
          COMPONENT program)
  install(FILES ${manual}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          RENAME impactlab.fish COMPONENT program)
else()
  message(STATUS "without the manual page and the completions, which are made by Python 3")
endif()

# Data keep their places relative to each other (`../sample`), and below a folder `data`, so that the commands of the README
# and of --help run unchanged in a copy.
foreach(folder sample experiments scenarios systems maps diagrams plans published reference)
  install(DIRECTORY data/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/impactlab/data COMPONENT program)
endforeach()
install(FILES data/README.md data/REFERENCE.md DESTINATION ${CMAKE_INSTALL_DATADIR}/impactlab/data COMPONENT program)

# Licences: the project's own, and that of the plotting library which is part of the package.
set(plotting ${PROJECT_SOURCE_DIR}/node_modules/plotly.js-cartesian-dist-min/LICENSE)
file(READ LICENSE IMPACTLAB_LICENSE)
set(PLOTTING_LICENSE "(not in this package)")
if(EXISTS ${plotting})
  file(READ ${plotting} PLOTTING_LICENSE)
endif()
configure_file(pipelines/install/copyright.in ${PROJECT_BINARY_DIR}/package/copyright @ONLY)
foreach(package impactlab impactlab-dev)
  set(component program)
  if(package STREQUAL "impactlab-dev")
    set(component dev)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/package/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component})
endforeach()
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/impactlab COMPONENT program)

set(CPACK_PACKAGE_NAME impactlab)
set(CPACK_PACKAGE_VENDOR ImpactLab)
# Debian wants an address; whoever publishes a package gives their own: cpack -D CPACK_PACKAGE_CONTACT=...
set(CPACK_PACKAGE_CONTACT "ImpactLab authors <impactlab@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "friction and restitution from recordings of impacts")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL program dev)
if(TARGET python)
  list(APPEND CPACK_COMPONENTS_ALL packaged_python)
endif()
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_PROGRAM_GROUP user)
set(CPACK_COMPONENT_PACKAGED_PYTHON_GROUP user)
set(CPACK_COMPONENT_DEV_GROUP dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_USER_PACKAGE_NAME impactlab)
set(CPACK_DEBIAN_USER_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_USER_PACKAGE_SECTION science)
set(CPACK_DEBIAN_USER_DESCRIPTION
"Videos, tracks or poses of bodies that are dropped or thrown go in; coefficients of friction and restitution and a
validation table come out, each with its uncertainty. With the Python module impactlab and sample data.")
set(CPACK_DEBIAN_USER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_USER_PACKAGE_RECOMMENDS python3-numpy)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME impactlab-dev)
set(CPACK_DEBIAN_DEV_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers, static libraries and CMake files of ImpactLab.")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
# What pipelines/install/ImpactLabConfig.cmake.in looks for.
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libeigen3-dev, libceres-dev, libyaml-cpp-dev, libfmt-dev, libssl-dev, libopencv-dev, \
libmatio-dev, libhdf5-dev, librsvg2-dev, libavformat-dev, libavcodec-dev, libavutil-dev, libswscale-dev, pkgconf")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Archives begin with a folder, the same for both, so that one unpacks over the other.
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/pipelines/install/package_options.cmake)
set(name ${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_ARCHIVE_USER_FILE_NAME impactlab-${name})
set(CPACK_ARCHIVE_DEV_FILE_NAME impactlab-dev-${name})
include(CPack)
