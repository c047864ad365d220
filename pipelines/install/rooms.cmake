# What `cmake --install` leaves: the program, and every room as a target of find_package(ImpactLab).

set(IMPACTLAB_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ImpactLab)

# A header that shows a library other than the standard one and Eigen is private to its room, and so is one that says so in its name.
function(impactlab_public_headers room result)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/*.h)
  set(public "")
  foreach(header ${headers})
    if(header MATCHES "_(internal|detail)\\.h$")
      continue()
    endif()
    file(STRINGS ${header} foreign REGEX "^#include [<\"](ceres|opencv2|yaml-cpp|fmt|nlohmann|boost|toml|matio|lib(av|sw)[a-z]+)[/.]|^#include \"(.*_(internal|detail)|data/(exact_bytes|stage_cache))\\.h\"")
    if(NOT foreign)
      list(APPEND public ${header})
    endif()
  endforeach()
  set(${result} ${public} PARENT_SCOPE)
endfunction()

function(impactlab_install_room room)
  target_compile_features(${room} PUBLIC cxx_std_20)
  # Archives stand in a folder of their own: `libdata.a` would be anybody's.
  install(TARGETS ${room} EXPORT ImpactLab_${room} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/impactlab)
  impactlab_public_headers(${room} headers)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/impactlab/${room})
  install(EXPORT ImpactLab_${room} NAMESPACE ImpactLab:: DESTINATION ${IMPACTLAB_PACKAGE_DIR})
endfunction()

function(impactlab_install_package)
  include(CMakePackageConfigHelpers)
  # Whoever shares Eigen types with the rooms must agree with them on alignment.
  target_compile_definitions(data INTERFACE $<INSTALL_INTERFACE:EIGEN_MALLOC_ALREADY_ALIGNED=1>
    $<INSTALL_INTERFACE:EIGEN_MAX_ALIGN_BYTES=16>)
  install(TARGETS impactlab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js
          DESTINATION ${CMAKE_INSTALL_DATADIR}/impactlab OPTIONAL)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/pipelines/install/ImpactLabConfig.cmake.in
    ${PROJECT_BINARY_DIR}/ImpactLabConfig.cmake INSTALL_DESTINATION ${IMPACTLAB_PACKAGE_DIR})
  # Below 1.0 a minor version may break what was there.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/ImpactLabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/ImpactLabConfig.cmake ${PROJECT_BINARY_DIR}/ImpactLabConfigVersion.cmake
          DESTINATION ${IMPACTLAB_PACKAGE_DIR})
endfunction()
