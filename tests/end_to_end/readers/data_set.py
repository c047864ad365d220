"""Compares exports with the CSV files they were made of, by readers that know nothing of ImpactLab.

    data_set.py FOLDER FILE.mat FILE.h5 FILE.json

Numbers must be those of the CSV to the last bit, as Python reads decimal text; texts the same letters; empty cells NaN.
"""

import csv
import json
import math
import pathlib
import sys

import h5py
import numpy
import scipy.io

folder, mat_path, h5_path, json_path = (pathlib.Path(a) for a in sys.argv[1:5])
mat = scipy.io.loadmat(mat_path, squeeze_me=False)
h5 = h5py.File(h5_path, "r")
tree = json.loads(json_path.read_text(encoding="utf-8"))
checked = 0


def of_mat(table, column):
    values = mat[table][column][0, 0]
    if values.dtype == object:
        return [str(v[0]) if v.size else "" for v in values[:, 0]]
    return list(values[:, 0])


def of_h5(table, column):
    values = h5[table][column][()]
    return [v.decode("utf-8") for v in values] if values.dtype == object else list(values)


def of_json(table, column):
    return [math.nan if v is None else v for v in tree["tables"][table][column]["values"]]


for path in sorted(folder.glob("*.csv")):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    header, rows = rows[0], rows[1:]
    for k, name in enumerate(header):
        cells = [row[k] for row in rows]
        for read in (of_mat, of_h5, of_json):
            values = read(path.stem, name)
            where = f"{read.__name__} {path.stem}.{name}"
            assert len(values) == len(cells), f"{where}: {len(values)} values of {len(cells)}"
            for value, cell in zip(values, cells):
                if isinstance(value, str):
                    assert value == cell, f"{where}: {value!r} is not {cell!r}"
                elif cell == "":
                    assert math.isnan(value), f"{where}: {value} for an empty cell"
                else:
                    assert float(value) == float(cell), f"{where}: {value!r} is not {cell}"
                checked += 1
        unit = tree["tables"][path.stem][name]["unit"]
        assert h5[path.stem][name].attrs.get("unit") == unit, f"{path.stem}.{name}: unit {unit}"
        if unit is not None:
            assert name.endswith("_" + unit), f"{path.stem}.{name}: unit {unit}"

with open(folder / "events_cov.csv", newline="", encoding="utf-8") as file:
    sidecar = list(csv.DictReader(file))
names = [v.decode("utf-8") for v in h5["events_cov_matrix_components"][()]]
units = ("_m_per_s", "_rad_per_s", "_m")
stems = [next(n[: -len(u)] for u in units if n.endswith(u)) for n in names]
full = h5["events_cov_matrix"][()]
assert full.shape == (len(sidecar), 15, 15), full.shape
assert numpy.array_equal(full, numpy.transpose(full, (0, 2, 1)))
assert numpy.array_equal(numpy.transpose(mat["events_cov_matrix"], (2, 0, 1)), full)
assert numpy.array_equal(numpy.array(tree["matrices"]["events_cov_matrix"]["values"]), full)
for i, a in enumerate(stems):
    for j in range(i, 15):
        found = [c for c in sidecar[0] if c.startswith(f"cov_{a}_{stems[j]}_")]
        assert len(found) <= 1, found
        if found:
            assert h5["events_cov"][found[0]].attrs["unit"] == found[0][len(f"cov_{a}_{stems[j]}_") :], found
        for e, row in enumerate(sidecar):
            expected = float(row[found[0]]) if found and row[found[0]] else 0.0
            if not found or row[found[0]]:
                assert full[e, i, j] == expected, f"event {e}: {a}, {stems[j]}"
                checked += 1

values = dict(zip(zip(of_h5("fit", "law"), of_h5("fit", "parameter")), zip(of_h5("fit", "value"), of_mat("fit", "value"))))
for law in json.loads((folder / "fit.json").read_text())["fits"]:
    for name, parameter in law["parameters"].items():
        assert values[law["law"], name] == (parameter["value"],) * 2, (law["law"], name)
        checked += 1
    assert numpy.array_equal(h5[f"fit_{law['law']}_cov"][0], numpy.array(law["covariance"]))
print(f"{checked} values agree")
