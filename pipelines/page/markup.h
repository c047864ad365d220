#pragma once
// Blocks of pages that recur, as templates in pipelines/assets (Mustache, mustache.github.io):
// `{{name}}` is plain text and escaped, `{{{name}}}` is HTML, `{{#name}}...{{/name}}` is there
// where a flag is set or a text is not empty, and once for every entry of a list.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace impactlab::pipelines {

// What fills a template, by the names in it.
struct MarkupValues {
  std::map<std::string, std::string> texts = {};
  std::map<std::string, bool> flags = {};
  std::map<std::string, std::vector<MarkupValues>> lists = {};
};

// The template `markup` with its values; std::logic_error where it cannot be parsed.
std::string FillTemplate(std::string_view markup, const MarkupValues& values);

// The head of a page, above its sections.
struct PageHead {
  std::string eyebrow, title;  // plain text: the kind of page, and its name
  std::string above = {};      // HTML between title and lead
  std::string lead = {};       // HTML of the sentence that states the result
  // class ("second", "notice") and HTML of further sentences
  std::vector<std::pair<std::string, std::string>> remarks = {};
  std::string tiles = {};  // as `Tile` gives them
  std::string rest = {};   // HTML below
};
std::string PageHeadHtml(const PageHead& head);

}  // namespace impactlab::pipelines
