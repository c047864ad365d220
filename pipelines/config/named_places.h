#pragma once
// Markers of an experiment file that names them and their places: `names` and `layout_m`.

#include <Eigen/Core>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipelines/config/visit.h"

namespace impactlab::pipelines {

using Places = std::vector<std::pair<std::string, std::vector<double>>>;

// Keys `names` and `layout_m`: every name once, each with `dim` coordinates [m]. ConfigError with
// file, line and key for fewer than `least` or unequal numbers; `why` says what needs so many.
void VisitPlaces(Keys& keys, Places& places, int dim, std::size_t least, const char* why);

// The same of a list of markers with `name` and `p_BM`.
template <class Marker>
void VisitMarkerPlaces(Keys& keys, std::vector<Marker>& markers, std::size_t least,
                       const char* why) {
  using Vector = decltype(Marker::p_BM);
  Places places;
  for (const Marker& marker : markers)
    places.emplace_back(marker.name, std::vector<double>(marker.p_BM.begin(), marker.p_BM.end()));
  VisitPlaces(keys, places, Vector::RowsAtCompileTime, least, why);
  markers.clear();
  for (const auto& [name, place] : places)
    markers.push_back({name, Eigen::Map<const Vector>(place.data())});
}

// DataError where a name of the layout is none of `present`, the markers of all recordings
// together; nothing where there is no recording.
void CheckLayoutNames(const std::vector<std::string>& layout, const std::set<std::string>& present);

}  // namespace impactlab::pipelines
