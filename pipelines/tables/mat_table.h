#pragma once
// Tables out of MAT-files.

#include <filesystem>

#include "data/files/table.h"

namespace impactlab::pipelines {

// Columns of a MAT-file of level 4, 5 or 7.3: its variables, or the fields of its one struct, that
// are vectors of one length, numbers or a cell of texts. `options` says which are read as text, as
// of CSV files. DataError where the file is none or holds no table.
Table ReadMatTable(const std::filesystem::path& path, const CsvOptions& options);

}  // namespace impactlab::pipelines
