#include "pipelines/page/markup.h"

#include <kainjow/mustache.hpp>
#include <stdexcept>

#include "pipelines/page/assets.h"
#include "pipelines/page/html.h"

namespace impactlab::pipelines {
namespace {

using TemplateData = kainjow::mustache::data;

TemplateData ToTemplateData(const MarkupValues& values) {
  TemplateData data(TemplateData::type::object);
  for (const auto& [name, text] : values.texts)
    data.set(name, text.empty() ? TemplateData(false) : TemplateData(text));
  for (const auto& [name, flag] : values.flags) data.set(name, TemplateData(flag));
  for (const auto& [name, entries] : values.lists) {
    TemplateData list(TemplateData::type::list);
    for (const MarkupValues& entry : entries) list.push_back(ToTemplateData(entry));
    data.set(name, list);
  }
  return data;
}

// The stream that a template is written to.
struct FilledText {
  std::string text;
  FilledText& operator<<(const std::string& piece) {
    text += piece;
    return *this;
  }
};

}  // namespace

std::string FillTemplate(std::string_view markup, const MarkupValues& values) {
  kainjow::mustache::mustache filled{std::string(markup)};
  if (!filled.is_valid()) throw std::logic_error("template of a page: " + filled.error_message());
  filled.set_custom_escape([](const std::string& text) { return Escape(text); });
  const TemplateData data = ToTemplateData(values);
  kainjow::mustache::context<std::string> context;
  context.push(&data);
  FilledText out;
  filled.render(context, out);
  return std::move(out.text);
}

std::string PageHeadHtml(const PageHead& head) {
  MarkupValues values{.texts = {{"eyebrow", head.eyebrow},
                                {"title", head.title},
                                {"above", head.above},
                                {"lead", head.lead},
                                {"tiles", head.tiles},
                                {"rest", head.rest}}};
  for (const auto& [kind, text] : head.remarks)
    values.lists["remarks"].push_back({.texts = {{"kind", kind}, {"text", text}}});
  return FillTemplate(kHeadTemplate, values);
}

}  // namespace impactlab::pipelines
