#pragma once
// Series of bounces of one body on one floor, told by their times or by how long the flights last:
// restitution with drag of the air, with restitution that changes with speed, and with impacts that
// were not recorded, recorded twice or misread.
//
// A body of drag k v^2 (k in 1/m, against the motion) that leaves with speed u rises for
// atan(x) / sqrt(g k), falls for asinh(x) / sqrt(g k) with x = u sqrt(k / g), and lands with
// u / sqrt(1 + x^2). The next speed is e(w) times that of landing w, with e(w) = e + slope (w -
// v_0). Drag and restitution that falls with speed both make flights last longer, compared with the
// one before, as a series goes on: as the square of the speed the one, as the speed the other.
// Source: Timmerman and van der Weele, Am. J. Phys. 67 (1999) 538.

#include <cstddef>
#include <string>
#include <vector>

namespace impactlab {

// Of a flight that begins with speed u upward: how long it lasts [s], and the speed of landing
// [m/s].
struct DragFlight {
  double duration = 0, landing = 0;
};
// Not a number where u or the drag make no flight (drag below 0 down to -g / u^2 serves searches).
DragFlight FlyWithDrag(double u, double drag, double gravity);

// Acceleration of gravity from the height of a drop [m] and the duration of the flight after its
// impact [s]: 8 e^2 h / T^2 without drag.
double GravityOfDrop(double height, double duration, double e, double drag);

struct BounceReadings {
  // Times of impacts, each with u; or durations of flights, each with u [s].
  std::vector<double> t;
  bool durations = false;
  double u = 0;
  // Flights between two neighbouring times (of a duration): 2 where an impact between was not
  // recorded. Empty: 1 each.
  std::vector<int> flights = {};
};

struct BounceSeriesSetting {
  double gravity = 9.80665;
  double drag = 0;  // [1/m]; the start where it is fitted
  bool fit_drag = false;
  bool fit_slope = false;
};

struct BounceSeries {
  bool ok = false;
  double e = 0;            // at v_0
  double v_0 = 0;          // geometric mean of the speeds of the first and the last landing [m/s]
  double slope = 0;        // de/dv [s/m]
  double drag = 0;         // [1/m]
  double first_speed = 0;  // with which the first flight begins [m/s]
  double e_first = 0, e_last = 0;  // at the first and at the last impact between two flights
  double sd_e = 0, sd_slope = 0, sd_drag = 0;  // of the readings alone
  double chi_square = 0, probability = 1;
  int dof = 0;
};

// Least squares on the readings. `start` of another fit, of the same series, spares the search;
// its v_0 is kept. ConfigError where there are fewer than three impacts.
BounceSeries FitBounceSeries(const BounceReadings& readings, const BounceSeriesSetting& setting,
                             const BounceSeries* start = nullptr);

// A way in which one reading may be wrong.
enum class BounceFault { kMissing, kExtra, kMisread };
struct BounceSuspicion {
  BounceFault fault = BounceFault::kMissing;
  std::size_t at = 0;       // the interval (kMissing), or the time
  double expected = 0;      // when it was, by the others [s]; not a number where it is none
  BounceReadings readings;  // mended
  BounceSeries fit;
};
// Those with which the series is as it should be (probability above `level`), the most probable
// first. Only where at least one degree of freedom is left.
std::vector<BounceSuspicion> SuspectBounces(const BounceReadings& readings,
                                            const BounceSeriesSetting& setting, double level);

}  // namespace impactlab
