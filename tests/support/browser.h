#pragma once
// Opens the program's pages in a browser without a window (Debian's chromium, driven by
// playwright-core of package.json).

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace impactlab::test {

// What of browser, driver and Node.js is not installed; empty when nothing is missing. A page takes
// minutes without a graphics card, so that they are opened on request alone.
inline std::string MissingForBrowser() {
  if (std::getenv("IMPACTLAB_BROWSER_TESTS") == nullptr)
    return "request to open a browser (IMPACTLAB_BROWSER_TESTS=1)";
  for (const char* program : {"node", "chromium"})
    if (std::system((std::string("command -v ") + program + " >/dev/null 2>&1").c_str()) != 0)
      return program;
  return std::filesystem::exists(std::filesystem::path(IMPACTLAB_SOURCE_DIR) /
                                 "node_modules/playwright-core")
             ? ""
             : "node_modules/playwright-core (npm ci)";
}

// What tests/browser/check_page.mjs finds wrong with a page in light and dark, wide and narrow;
// empty when nothing is. `features` are what the page must have: switch, keyboard, plots, tables,
// replay, pictures, recordings, configuration, paper. Pictures of it are left in
// BUILD/browser/NAME.
inline std::string PageFaults(const std::filesystem::path& page, const std::string& name,
                              const std::vector<std::string>& features) {
  const auto pictures = std::filesystem::path(IMPACTLAB_BINARY_DIR) / "browser" / name;
  std::filesystem::create_directories(pictures);
  std::string command =
      "node " +
      ShellQuote(std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "tests/browser/check_page.mjs") +
      " \"$(command -v chromium)\"";
  for (const std::string& word : {page.string(), pictures.string()})
    command += " " + ShellQuote(word);
  for (const std::string& feature : features) command += " " + ShellQuote(feature);
  const auto said = pictures / "said.txt";
  const int status = std::system((command + " >" + ShellQuote(said) + " 2>&1").c_str());
  return status == 0 ? std::string() : ReadText(said);
}

}  // namespace impactlab::test

#define IMPACTLAB_SKIP_WITHOUT_BROWSER()                                                    \
  if (const std::string missing = ::impactlab::test::MissingForBrowser(); !missing.empty()) \
  GTEST_SKIP() << "skipped: no " << missing
