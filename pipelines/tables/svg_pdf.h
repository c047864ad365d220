#pragma once
// Drawings for papers: an SVG file as a PDF of one page, lines and text as such.

#include <filesystem>

namespace impactlab {

// The page has the size of the drawing, 96 of its pixels to the inch. DataError for what is no SVG;
// OutputError.
void SvgToPdf(const std::filesystem::path& svg, const std::filesystem::path& pdf);

}  // namespace impactlab
