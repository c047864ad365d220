#include "pipelines/tables/svg_pdf.h"

#include <cairo/cairo-pdf.h>
#include <fmt/format.h>
#include <librsvg/rsvg.h>

#include <memory>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/tables/data_set.h"

namespace impactlab {
namespace {

constexpr double kPixelsPerInch = 96, kPointsPerInch = 72;

struct Unref {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
};

std::string Told(GError* error) {
  std::string text = error != nullptr ? error->message : "not known";
  g_clear_error(&error);
  return text;
}

}  // namespace

void SvgToPdf(const std::filesystem::path& svg, const std::filesystem::path& pdf) {
  const std::string text = ReadFile(svg);
  GError* error = nullptr;
  const std::unique_ptr<RsvgHandle, Unref> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(text.data()), text.size(), &error));
  if (!handle)
    throw DataError(
        fmt::format("{}: found {}, allowed an SVG drawing", svg.string(), Excerpt(Told(error))));
  rsvg_handle_set_dpi(handle.get(), kPixelsPerInch);
  double width = 0, height = 0;
  if (rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) == FALSE) {
    gboolean has_width = FALSE, has_height = FALSE, has_box = FALSE;
    RsvgLength w, h;
    RsvgRectangle box{};
    rsvg_handle_get_intrinsic_dimensions(handle.get(), &has_width, &w, &has_height, &h, &has_box,
                                         &box);
    if (has_box != FALSE) width = box.width, height = box.height;
  }
  if (!(width > 0 && height > 0))
    throw DataError(fmt::format(
        "{}: found a drawing without a size, allowed one with width and height or a viewBox",
        svg.string()));
  pipelines::WriteWhole(pdf, [&](const std::string& part) -> std::string {
    constexpr double kScale = kPointsPerInch / kPixelsPerInch;
    const std::unique_ptr<cairo_surface_t, Unref> surface(
        cairo_pdf_surface_create(part.c_str(), width * kScale, height * kScale));
    const std::unique_ptr<cairo_t, Unref> cairo(cairo_create(surface.get()));
    cairo_scale(cairo.get(), kScale, kScale);
    const RsvgRectangle page{0, 0, width, height};
    GError* fault = nullptr;
    if (rsvg_handle_render_document(handle.get(), cairo.get(), &page, &fault) == FALSE)
      return Told(fault);
    cairo_surface_finish(surface.get());
    const cairo_status_t status = cairo_surface_status(surface.get());
    return status == CAIRO_STATUS_SUCCESS ? "" : cairo_status_to_string(status);
  });
}

}  // namespace impactlab
