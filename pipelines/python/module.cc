// The module itself: errors, experiments, run folders.

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <utility>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "pipelines/cli/commands.h"
#include "pipelines/config/run_context.h"
#include "pipelines/python/bodies.h"
#include "pipelines/tables/data_set.h"
#include "pipelines/tables/tables.h"

namespace impactlab::python {
namespace {

py::dict LoadRun(const std::filesystem::path& folder) {
  std::vector<std::string> notes;
  DataSet data;
  {
    const Unlocked unlocked;
    data = ReadDataSet(folder, &notes);
  }
  py::dict attributes, tables, matrices, out;
  for (const auto& [name, value] : data.attributes) attributes[name.c_str()] = value;
  for (const DataTable& table : data.tables) {
    py::dict columns;
    for (const DataColumn& column : table.columns)
      columns[column.name.c_str()] = column.is_text ? py::object(TextArray(column.texts))
                                                    : py::object(ToArray(column.numbers));
    tables[table.name.c_str()] = columns;
  }
  for (const DataMatrices& m : data.matrices) {
    const auto k = static_cast<py::ssize_t>(m.components.size());
    matrices[m.name.c_str()] = py::make_tuple(
        m.components, Doubles({static_cast<py::ssize_t>(m.count), k, k}, m.values.data()));
  }
  out["attributes"] = attributes;
  out["tables"] = tables;
  out["matrices"] = matrices;
  out["notes"] = notes;
  return out;
}

int Run(const std::filesystem::path& experiment, const std::filesystem::path& folder,
        const std::string& recordings, int threads, bool report, int bootstrap,
        const std::vector<std::string>& require, bool force, bool move_aside,
        bool force_coefficients) {
  RunArguments arguments;
  arguments.experiment = experiment;
  arguments.out = folder;
  arguments.recordings = recordings;
  arguments.threads = CheckedThreads(threads);
  arguments.report = report;
  arguments.bootstrap = bootstrap;
  arguments.require = require;
  arguments.force = force;
  arguments.move_aside = move_aside;
  arguments.force_coefficients = force_coefficients;
  arguments.quiet = true;
  arguments.command = "impactlab.run of Python";
  const Unlocked unlocked;
  return RunCommand(arguments, unlocked.cancellation());
}

// An exception of the module, derived from one of Python's.
template <typename Error>
void AddError(py::module_& module, const char* name, PyObject* base, const char* meaning) {
  py::exception<Error>& error = py::register_exception<Error>(module, name, base);
  error.attr("__module__") = "impactlab";
  error.attr("__doc__") = meaning;
}

void AddExperiments(py::module_& module) {
  py::class_<Experiment>(module, "Experiment", "An experiment file with every default filled in.")
      .def_property_readonly("name", [](const Experiment& e) { return e.name; })
      .def_property_readonly("body", [](const Experiment& e) { return e.body; })
      .def_property_readonly(
          "gravity_m_per_s2",
          [](const Experiment& e) { return Doubles(3, e.motion.flight.gravity_W.data()); })
      .def_property_readonly("floor_normal",
                             [](const Experiment& e) { return Doubles(3, e.floor.normal.data()); })
      .def_property_readonly("floor_offset_m", [](const Experiment& e) { return e.floor.offset; })
      .def(
          "load_events",
          [](const Experiment& e, const std::filesystem::path& path) {
            return Events{LoadStates(e, path), e.motion.flight.gravity_W};
          },
          py::arg("path"),
          "Reads an events table of this body over this floor; what `correction` and `release` of "
          "the file declare is taken into account. Raises DataError with row and column.")
      .def("identify", &Identified, py::arg("events"), py::arg("force_coefficients") = false,
           "Friction and restitution by the laws and options of the file: what `impactlab "
           "identify` writes to fit.json, with the audit of the events as \"states_audit\". Where "
           "the events contradict a rigid body, verdict and "
           "reason say so and the values are None, unless force_coefficients.")
      .def(
          "yaml", [](const Experiment& e) { return ToYaml(e); },
          "The experiment as a file with all defaults.")
      .def("__repr__",
           [](const Experiment& e) { return "<impactlab.Experiment: " + e.name + ">"; });
  module.def("load_experiment", &LoadExperiment, py::arg("path"),
             "Reads an experiment file (data/README.md). Raises ConfigError.");
  module.def(
      "run", &Run, py::arg("experiment"), py::arg("out") = "out", py::kw_only(),
      py::arg("recordings") = "", py::arg("threads") = 0, py::arg("report") = true,
      py::arg("bootstrap") = -1, py::arg("require") = std::vector<std::string>{},
      py::arg("force") = false, py::arg("move_aside") = false,
      py::arg("force_coefficients") = false,
      R"(Runs an experiment file from recordings to report, as `impactlab run` does, and writes the folder `out`.

recordings: glob that replaces the file's. bootstrap: -1 keeps the file's. require: such as "mu_k.half_width<=0.03". force: stages that an
earlier run finished are done again. move_aside: files in the way that no run wrote are renamed to NAME.aside instead of
refused (ConfigError). force_coefficients: they are determined although the data contradict a rigid body. Returns 0, or 1
where a requirement is not met. Raises ConfigError, DataError (nothing usable, or coefficients withheld: the folder is written),
OSError (output cannot be written); KeyboardInterrupt leaves a run that goes on where it was.)");
  module.def(
      "load_run", &LoadRun, py::arg("path"),
      R"(A run folder, one of its CSV tables or a fit.json as arrays: attributes, tables, matrices, notes.

tables: by file, dicts of arrays by column; names carry their units (data/README.md), NaN stands for an empty cell. matrices: by name, a tuple
of the components and an array (n, k, k), such as events_cov_matrix. notes: files of the folder that are no tables. Raises DataError.)");
}

}  // namespace

PYBIND11_MODULE(_impactlab, module) {
  module.doc() =
      "Friction and restitution from recordings of impacts. SI units and radians; names carry "
      "their units.";
  module.attr("__version__") = ProgramVersion();
  AddError<ConfigError>(module, "ConfigError", PyExc_ValueError,
                        "A configuration or an argument asks for something that cannot be.");
  AddError<DataError>(module, "DataError", PyExc_ValueError,
                      "A data file cannot be read as what it claims to be.");
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(std::move(error));
    } catch (const OutputError& fault) {
      PyErr_SetString(PyExc_OSError, fault.what());
    } catch (const Interrupted& fault) {
      PyErr_SetString(PyExc_KeyboardInterrupt, fault.what());
    }
  });
  AddLaws(module);
  AddCompliant(module);
  AddSystems(module);
  AddOrbits(module);
  AddBodies(module);
  AddCameras(module);
  AddExperiments(module);
}

}  // namespace impactlab::python
