# Headers that nearly every source includes, precompiled once for all rooms. A source still includes what it uses: the
# preset `tidy` compiles without them.
option(IMPACTLAB_PRECOMPILE "Precompile the headers that most sources include" ${IMPACTLAB_BATCHES})
if(IMPACTLAB_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # For ccache, which preprocesses sources before it compares them.
  add_compile_options(-fpch-preprocess)
endif()

# A precompiled header serves sources only that are compiled with the same definitions: CMakeLists.txt gives those of fmt and
# Boost to all.
function(impactlab_precompile target)
  if(NOT IMPACTLAB_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL "data")
    target_precompile_headers(data PRIVATE <Eigen/Dense> <data/math/eigen_instances.h> <algorithm> <array> <cmath> <cstdint>
      <filesystem> <functional> <limits> <map> <memory> <numeric> <optional> <random> <set> <span> <string> <string_view>
      <utility> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM data)
  endif()
endfunction()
