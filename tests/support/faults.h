#pragma once
// The one line of error that a call or an experiment text causes.

#include <string>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/run/experiment.h"
#include "tests/support/folder.h"

namespace impactlab::test {

template <class Call>
std::string FaultOf(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

inline Experiment LoadText(const std::string& text) {
  const TemporaryFolder folder;
  WriteFile(folder / "exp.yaml", text);
  return LoadExperiment(folder / "exp.yaml");
}

}  // namespace impactlab::test
