#pragma once
// An interpreter of Python that has what a test's reader needs.

#include <cstdlib>
#include <string>

namespace impactlab::test {

// Path of the first interpreter that imports `modules` ("scipy.io, h5py"); empty where there is
// none. Debian's comes first: another python3 in the search path may lack Debian's packages.
inline std::string PythonWith(const std::string& modules) {
  for (const char* python : {"/usr/bin/python3", "python3"})
    if (std::system(
            (std::string(python) + " -c 'import " + modules + "' >/dev/null 2>&1").c_str()) == 0)
      return python;
  return {};
}

}  // namespace impactlab::test
