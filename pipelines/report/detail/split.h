#pragma once
// What the plots of a page are drawn of: in the page, or, of a large run, in scripts beside it that
// it loads as they are looked at. Private to the report.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "pipelines/report/parts.h"

namespace impactlab::pipelines {

struct PageData {
  std::string recordings, figures;  // JSON lists inside the page
  // scripts: path from the page's folder, and text
  std::vector<std::pair<std::string, std::string>> parts;
  std::size_t pictured = 0;  // recordings with frames of their videos
};

// The page holds everything up to `page_bytes`. Beyond, it keeps of every recording what lists need
// and of every figure the first plot; parts of some hundred kilobytes in `folder` hold the rest.
// They are named by the content of all, so that a page never loads those of another one.
inline constexpr std::size_t kPageBytes = 6'000'000;
PageData SplitPage(const ReportContext& context, const std::vector<Section>& sections,
                   const std::string& folder, std::size_t page_bytes);

// WriteReport for another size.
void WriteReportWithin(const std::filesystem::path& path, const RunResult& run,
                       const std::filesystem::path& plot_library, std::size_t page_bytes);

}  // namespace impactlab::pipelines
