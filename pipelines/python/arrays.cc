#include "pipelines/python/arrays.h"

#include <fmt/format.h>
#include <signal.h>

#include <exception>
#include <mutex>

#include "data/base/error.h"
#include "pipelines/config/run_context.h"

namespace impactlab::python {
namespace {

std::string Words(const Shape& shape, bool cases) {
  std::string out = cases ? "n" : "";
  for (const py::ssize_t size : shape) out += fmt::format("{}{}", out.empty() ? "" : ", ", size);
  if (shape.size() + cases == 1) out += ",";
  return "(" + out + ")";
}

std::string Words(const py::array& array) {
  return Words(Shape(array.shape(), array.shape() + array.ndim()), false);
}

Doubles Numbers(const py::handle& value, const char* name) {
  const py::module_ numpy = py::module_::import("numpy");
  // A mask would be lost without a word, and what it hides would count.
  if (py::isinstance(value, numpy.attr("ma").attr("MaskedArray")) &&
      numpy.attr("ma").attr("is_masked")(value).cast<bool>())
    throw ConfigError(fmt::format(
        "{}: found masked values, allowed numbers: give the cases that have them", name));
  const py::object array = numpy.attr("asarray")(value);
  const auto kind = array.attr("dtype").attr("kind").cast<std::string>();
  if (kind != "f" && kind != "i" && kind != "u")
    throw ConfigError(fmt::format("{}: found dtype {}, allowed numbers", name,
                                  py::str(array.attr("dtype")).cast<std::string>()));
  return Doubles::ensure(array);
}

// What Ctrl-C did before the first of the calls that are under way.
std::mutex mutex;
int under_way = 0;
bool replaced = false;
struct sigaction before;
// Of all calls under way: there is one Ctrl-C for the whole process.
constinit Cancellation interrupted;

}  // namespace

int CheckedThreads(int threads) {
  if (threads < 0 || threads > 256)
    throw ConfigError(fmt::format("threads: found {}, allowed 0 (one a core) to 256", threads));
  return threads;
}

Batch::Batch(const py::handle& value, const char* name, std::initializer_list<Shape> shapes)
    : name_(name), array_(Numbers(value, name)) {
  std::string allowed;
  const Shape found(array_.shape(), array_.shape() + array_.ndim());
  std::size_t index = 0;
  for (const Shape& shape : shapes) {
    const bool cases = found.size() == shape.size() + 1;
    if ((cases || found.size() == shape.size()) &&
        std::equal(shape.begin(), shape.end(), found.begin() + cases)) {
      data_ = array_.data();
      shape_ = index;
      count_ = cases ? found[0] : 1;
      for (const py::ssize_t size : shape) size_ *= size;
      return;
    }
    allowed += shape.empty() ? std::string("a number, ") : Words(shape, false) + ", ";
    ++index;
  }
  for (const Shape& shape : shapes) allowed += Words(shape, true) + ", ";
  allowed.resize(allowed.size() - 2);
  throw ConfigError(fmt::format("{}: found shape {}, allowed {}", name_, Words(array_), allowed));
}

py::ssize_t Cases(std::initializer_list<const Batch*> batches) {
  const Batch* longest = *batches.begin();
  for (const Batch* batch : batches)
    if (longest->count() == 1) longest = batch;
  for (const Batch* batch : batches)
    if (batch->count() != 1 && batch->count() != longest->count())
      throw ConfigError(fmt::format("{}: found {} cases, allowed 1 or {}, the number of {}",
                                    batch->name(), batch->count(), longest->count(),
                                    longest->name()));
  return longest->count();
}

Eigen::Vector3d ToVector(const py::handle& value, const char* name) {
  const Batch batch(value, name, {{3}});
  if (batch.count() != 1 || !batch.Vector(0).allFinite())
    throw ConfigError(fmt::format("{}: allowed three finite numbers", name));
  return batch.Vector(0);
}

Eigen::Matrix3d ToRotation(const Batch& quaternions, py::ssize_t i) {
  const double* w = quaternions[i];
  Eigen::Quaterniond q(w[0], w[1], w[2], w[3]);
  if (!(std::abs(q.norm() - 1) < 0.01))
    throw ConfigError(fmt::format("{}: case {}: found a length of {:.6g}, allowed 1 within 0.01",
                                  quaternions.name(), i, q.norm()));
  if (std::abs(q.norm() - 1) > 1e-14) q.normalize();
  return q.toRotationMatrix();
}

Doubles Zeros(Shape shape) {
  Doubles out(std::move(shape));
  std::fill(out.mutable_data(), out.mutable_data() + out.size(), 0.0);
  return out;
}

Doubles ToArray(const Eigen::MatrixXd& matrix) {
  Doubles out({matrix.rows(), matrix.cols()});
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(out.mutable_data(), matrix.rows(), matrix.cols()) = matrix;
  return out;
}

Doubles ToArray(const std::vector<double>& numbers) {
  return Doubles(static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

py::array TextArray(const std::vector<std::string>& texts) {
  py::list list;
  for (const std::string& text : texts) list.append(text);
  return py::module_::import("numpy").attr("array")(list, py::arg("dtype") = "str");
}

py::object FromJson(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

Unlocked::Unlocked() : exceptions_(std::uncaught_exceptions()), thread_(nullptr) {
  {
    const std::lock_guard lock(mutex);
    if (under_way++ == 0) {
      ::sigaction(SIGINT, nullptr, &before);
      replaced = before.sa_handler != SIG_IGN;
      struct sigaction ask = {};
      ask.sa_handler = [](int) { interrupted.Request(); };
      if (replaced) ::sigaction(SIGINT, &ask, nullptr);
    }
  }
  thread_ = PyEval_SaveThread();
}

const Cancellation& Unlocked::cancellation() const { return interrupted; }

Unlocked::~Unlocked() {
  bool late = false;
  {
    const std::lock_guard lock(mutex);
    if (--under_way == 0) {
      if (replaced) ::sigaction(SIGINT, &before, nullptr);
      late = interrupted.Reset() && std::uncaught_exceptions() == exceptions_;
    }
  }
  PyEval_RestoreThread(thread_);
  if (late) PyErr_SetInterrupt();
}

}  // namespace impactlab::python
