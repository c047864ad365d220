// HDF5 by its C library: a group for every table, a data set for every column, `unit` as its
// attribute.

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/tables/data_set.h"

namespace impactlab::pipelines {
namespace {

// An identifier of the library with what closes it. All calls are checked by one flag: the
// first failure is reported, not those that follow from it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  hid_t get() const { return id_; }
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Writer {
 public:
  // The file is made in memory: the library aborts when the disk is full.
  Writer()
      : access_(H5Pcreate(H5P_FILE_ACCESS), H5Pclose),
        file_(Open(access_.get()), H5Fclose),
        text_(H5Tcopy(H5T_C_S1), H5Tclose) {
    Check(file_.good() && text_.good());
    Check(H5Tset_size(text_.get(), H5T_VARIABLE) >= 0 &&
          H5Tset_cset(text_.get(), H5T_CSET_UTF8) >= 0);
  }

  hid_t root() const { return file_.get(); }
  bool good() const { return good_; }
  std::string Bytes() {
    Check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0);
    const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
    std::string bytes(static_cast<std::size_t>(std::max<ssize_t>(size, 0)), '\0');
    Check(size > 0 && H5Fget_file_image(file_.get(), bytes.data(), bytes.size()) == size);
    return bytes;
  }

  void Attribute(hid_t of, const char* name, const std::string& text) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute(H5Acreate2(of, name, text_.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    const char* pointer = text.c_str();
    Check(attribute.good() && H5Awrite(attribute.get(), text_.get(), &pointer) >= 0);
  }

  void Texts(hid_t group, const std::string& name, const std::vector<std::string>& texts) {
    std::vector<const char*> pointers;
    pointers.reserve(texts.size());
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    Write(group, name, text_.get(), {texts.size()}, pointers.data(), "");
  }

  void Numbers(hid_t group, const std::string& name, const std::vector<double>& numbers,
               const std::vector<std::size_t>& dims, const std::string& unit) {
    Write(group, name, H5T_NATIVE_DOUBLE, dims, numbers.data(), unit);
  }

  void Check(bool good) { good_ = good_ && good; }

 private:
  static hid_t Open(hid_t access) {
    constexpr std::size_t kStep = std::size_t{1} << 20;  // by which the memory grows
    H5Pset_fapl_core(access, kStep, 0);
    return H5Fcreate("impactlab.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  }

  void Write(hid_t group, const std::string& name, hid_t type, const std::vector<std::size_t>& dims,
             const void* data, const std::string& unit) {
    const std::vector<hsize_t> size(dims.begin(), dims.end());
    const Handle space(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                       H5Sclose);
    // On disk numbers are little-endian on every machine.
    const hid_t stored = type == H5T_NATIVE_DOUBLE ? H5T_IEEE_F64LE : type;
    const Handle set(
        H5Dcreate2(group, name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    Check(set.good());
    const bool empty = std::find(size.begin(), size.end(), hsize_t{0}) != size.end();
    if (set.good() && !empty)
      Check(H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    if (set.good() && !unit.empty()) Attribute(set.get(), "unit", unit);
  }

  Handle access_, file_, text_;
  bool good_ = true;
};

// A slash would make a group of its own.
std::string Link(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

void WriteHdf5(const std::filesystem::path& path, const DataSet& data) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report faults ourselves
  Writer out;
  out.Attribute(out.root(), "schema", "impactlab.data_set/1");
  out.Attribute(out.root(), "name", data.name);
  // Long text does not fit into an attribute of the format's first kind.
  for (const auto& [key, text] : data.attributes) out.Texts(out.root(), Link(key), {text});
  for (const DataTable& table : data.tables) {
    const Handle group(
        H5Gcreate2(out.root(), Link(table.name).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Gclose);
    out.Check(group.good());
    if (!group.good()) break;
    for (const DataColumn& column : table.columns) {
      if (column.is_text)
        out.Texts(group.get(), Link(column.name), column.texts);
      else
        out.Numbers(group.get(), Link(column.name), column.numbers, {column.numbers.size()},
                    column.unit);
    }
  }
  for (const DataMatrices& matrices : data.matrices) {
    const std::size_t n = matrices.components.size();
    out.Numbers(out.root(), Link(matrices.name), matrices.values, {matrices.count, n, n}, "");
    out.Texts(out.root(), Link(matrices.name + "_components"), matrices.components);
  }
  const std::string bytes = out.Bytes();
  if (!out.good())
    throw OutputError(
        fmt::format("{}: cannot be written: HDF5 refused what it should hold", path.string()));
  WriteFile(path, bytes);
}

}  // namespace impactlab::pipelines
