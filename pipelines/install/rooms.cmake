# What `cmake --install` leaves: the program (component `program`), and every room as a target of find_package(ImpactLab)
# (component `dev`). Packages of the components: package.cmake.

set(IMPACTLAB_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ImpactLab)

# Headers in a folder `detail` are private to the folder above it; the others are public and show the standard library and
# Eigen only. Not installed either: `*_json.h`, by which folders hand on nlohmann's JSON, `*_opencv.h`, which hide the
# versions of OpenCV, and the cache, whose templates walk the bytes of its values.
function(impactlab_public_headers room result)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/*.h)
  list(FILTER headers EXCLUDE REGEX "/detail/|/python/|_(json|opencv)[.]h$|/data/cache/stage_cache[.]h$")
  # Nor what folders of one room share and what shows a private header.
  set(public "")
  foreach(header ${headers})
    file(STRINGS ${header} private REGEX "^#include \".*/detail/")
    if(NOT private)
      list(APPEND public ${header})
    endif()
  endforeach()
  set(${result} ${public} PARENT_SCOPE)
endfunction()

function(impactlab_install_room room)
  target_compile_features(${room} PUBLIC cxx_std_20)
  # Archives stand in a folder of their own: `libdata.a` would be anybody's.
  install(TARGETS ${room} EXPORT ImpactLab_${room} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/impactlab
          COMPONENT dev)
  impactlab_public_headers(${room} headers)
  foreach(header ${headers})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${header})
    get_filename_component(folder ${path} DIRECTORY)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/impactlab/${folder} COMPONENT dev)
  endforeach()
  install(EXPORT ImpactLab_${room} NAMESPACE ImpactLab:: DESTINATION ${IMPACTLAB_PACKAGE_DIR} COMPONENT dev)
endfunction()

function(impactlab_install_package)
  include(CMakePackageConfigHelpers)
  # Whoever shares Eigen types with the rooms must agree with them on alignment.
  target_compile_definitions(data INTERFACE $<INSTALL_INTERFACE:EIGEN_MALLOC_ALREADY_ALIGNED=1>
    $<INSTALL_INTERFACE:EIGEN_MAX_ALIGN_BYTES=16>)
  install(TARGETS impactlab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES ${PROJECT_SOURCE_DIR}/node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js
          DESTINATION ${CMAKE_INSTALL_DATADIR}/impactlab COMPONENT program OPTIONAL)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/pipelines/install/ImpactLabConfig.cmake.in
    ${PROJECT_BINARY_DIR}/ImpactLabConfig.cmake INSTALL_DESTINATION ${IMPACTLAB_PACKAGE_DIR})
  # Below 1.0 a minor version may break what was there.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/ImpactLabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/ImpactLabConfig.cmake ${PROJECT_BINARY_DIR}/ImpactLabConfigVersion.cmake
          DESTINATION ${IMPACTLAB_PACKAGE_DIR} COMPONENT dev)
endfunction()
