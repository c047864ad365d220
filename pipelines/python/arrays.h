#pragma once
// Between numpy and the library: arrays come in with faults named, results go out under names with
// units.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace impactlab {
class Cancellation;
}  // namespace impactlab

namespace impactlab::python {

namespace py = pybind11;
using Doubles = py::array_t<double, py::array::c_style>;
using Shape = std::vector<py::ssize_t>;

// A quantity for each of n cases, or one that holds for all of them.
class Batch {
 public:
  // Takes any of `shapes`, each with or without a leading axis of cases. ConfigError "name: found,
  // allowed" for another shape, and for what are no numbers.
  Batch(const py::handle& value, const char* name, std::initializer_list<Shape> shapes);

  const std::string& name() const { return name_; }
  py::ssize_t count() const { return count_; }
  std::size_t shape() const { return shape_; }  // index of the shape that was found
  const double* operator[](py::ssize_t i) const { return data_ + (count_ == 1 ? 0 : i * size_); }
  Eigen::Vector3d Vector(py::ssize_t i) const {
    return Eigen::Map<const Eigen::Vector3d>((*this)[i]);
  }

 private:
  std::string name_;
  Doubles array_;
  const double* data_ = nullptr;
  py::ssize_t count_ = 1, size_ = 1;
  std::size_t shape_ = 0;
};

// The number of cases; ConfigError where two batches have different numbers above 1.
py::ssize_t Cases(std::initializer_list<const Batch*> batches);

// `threads` as it is; ConfigError where it is no count (0: one a core).
int CheckedThreads(int threads);

Eigen::Vector3d ToVector(const py::handle& value, const char* name);
// From quaternions w, x, y, z; ConfigError where one is not of unit length within 0.01, as in
// files.
Eigen::Matrix3d ToRotation(const Batch& quaternions, py::ssize_t i);

Doubles Zeros(Shape shape);
Doubles ToArray(const Eigen::MatrixXd& matrix);
Doubles ToArray(const std::vector<double>& numbers);
py::array TextArray(const std::vector<std::string>& texts);
// Writes v to row i of an array of vectors.
inline void SetRow(Doubles& array, py::ssize_t i, const Eigen::Ref<const Eigen::VectorXd>& v) {
  std::copy(v.data(), v.data() + v.size(), array.mutable_data() + i * v.size());
}

// The value that JSON text stands for.
py::object FromJson(const std::string& text);

// While one lives, other threads of Python go on, and Ctrl-C requests `cancellation`, which the
// long loops of the library are given. One that came too late for them is handed on to Python.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  const Cancellation& cancellation() const;

 private:
  int exceptions_;
  PyThreadState* thread_;
};

// The parts of the module, by source file.
void AddLaws(py::module_& module);
void AddCompliant(py::module_& module);
void AddSystems(py::module_& module);
void AddOrbits(py::module_& module);
void AddBodies(py::module_& module);
void AddCameras(py::module_& module);

}  // namespace impactlab::python
