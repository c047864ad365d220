#pragma once
// The journal of a diagram: a line for every cell that is done, whole or not there.

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "pipelines/simulate/diagram.h"

namespace impactlab::pipelines {

class DiagramJournal {
 public:
  // Puts what the file holds into `cells`. Lines that are cut off or damaged are dropped: their
  // cells are not done. Errors as ComputeDiagram.
  DiagramJournal(const std::filesystem::path& path, const Diagram& diagram,
                 std::vector<DiagramCell>& cells);
  ~DiagramJournal();
  DiagramJournal(const DiagramJournal&) = delete;
  DiagramJournal& operator=(const DiagramJournal&) = delete;

  // Whole lines dropped, which no interruption leaves.
  std::size_t damaged() const { return damaged_; }
  // Any thread.
  void Append(std::size_t index, const DiagramCell& cell);

 private:
  std::filesystem::path path_;
  const Diagram& diagram_;
  std::mutex mutex_;
  int fd_ = -1;
  std::size_t damaged_ = 0;
};

}  // namespace impactlab::pipelines
