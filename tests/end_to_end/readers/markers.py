"""A reader of C3D written from the public description of the format (C3D.org user guide), and one of TRC, held against a CSV.

    markers.py FILE.csv FILE.c3d FILE.trc

Both files are in mm. C3D stores single precision; TRC as many digits as the CSV.
"""

import csv
import math
import struct
import sys


def read_c3d(path):
    data = open(path, "rb").read()
    assert data[1] == 0x50, "not a C3D file"
    first = (data[0] - 1) * 512
    blocks, processor = data[first + 2], data[first + 3]
    assert processor == 84, f"processor type {processor}: only Intel is read here"
    (points, analog, start, end) = struct.unpack_from("<4H", data, 2)
    (scale,) = struct.unpack_from("<f", data, 12)
    (data_block,) = struct.unpack_from("<H", data, 16)
    (rate,) = struct.unpack_from("<f", data, 20)
    groups, parameters, at = {}, {}, first + 4
    while at < first + 512 * blocks:
        length, group = struct.unpack_from("<bb", data, at)
        if length == 0:
            break
        name = data[at + 2 : at + 2 + abs(length)].decode("ascii").upper()
        after = at + 2 + abs(length)
        (offset,) = struct.unpack_from("<H", data, after)
        if group < 0:
            groups[-group] = name
        else:
            kind, n = struct.unpack_from("<bB", data, after + 2)
            dims = list(data[after + 4 : after + 4 + n])
            body = after + 4 + n
            size = math.prod(dims)
            raw = data[body : body + size * abs(kind)]
            if kind == -1:
                width = dims[0] if dims else 1
                value = [raw[i : i + width].decode("utf-8").rstrip(" \0") for i in range(0, len(raw), width)] if width else []
            else:
                value = list(struct.unpack(f"<{size}" + {1: "b", 2: "h", 4: "f"}[kind], raw))
            parameters[group, name] = value
        if offset == 0:
            break
        at = after + offset
    by_name = {f"{groups[g]}:{n}": v for (g, n), v in parameters.items()}
    assert scale < 0, "integers are not read here"
    frames = end - start + 1
    assert by_name["POINT:USED"][0] == points and by_name["POINT:FRAMES"][0] % 65536 == frames
    assert abs(by_name["POINT:RATE"][0] - rate) < 1e-3
    at = (data_block - 1) * 512
    out = []
    for _ in range(frames):
        row = []
        for _ in range(points):
            x, y, z, word = struct.unpack_from("<4f", data, at)
            row.append(None if word < 0 else (x, y, z))
            at += 16
        at += 4 * analog
        out.append(row)
    assert at <= len(data), "the file ends before its last frame"
    return by_name["POINT:LABELS"], by_name["POINT:UNITS"][0], rate, out


def read_trc(path):
    lines = open(path, encoding="utf-8").read().split("\n")
    keys, values = lines[1].split("\t"), lines[2].split("\t")
    header = dict(zip(keys, values))
    labels = [c for c in lines[3].split("\t")[2:] if c]
    rows = [line.split("\t") for line in lines[5:] if line.strip()]
    assert len(rows) == int(header["NumFrames"]) and len(labels) == int(header["NumMarkers"])
    out = []
    for row in rows:
        cells = row[2:] + [""] * (3 * len(labels) - len(row) + 2)
        triples = [cells[3 * k : 3 * k + 3] for k in range(len(labels))]
        out.append([None if t[0].strip() in ("", "NaN") else tuple(float(c) for c in t) for t in triples])
    return labels, header["Units"], float(header["DataRate"]), [float(row[1]) for row in rows], out


with open(sys.argv[1], newline="", encoding="utf-8") as file:
    truth = list(csv.DictReader(file))
names = [c[: -len("_x_m")] for c in truth[0] if c.endswith("_x_m")]
times = [float(row["t_s"]) for row in truth]
c3d_labels, c3d_unit, c3d_rate, c3d = read_c3d(sys.argv[2])
trc_labels, trc_unit, trc_rate, trc_times, trc = read_trc(sys.argv[3])
assert c3d_labels == names and trc_labels == names, (c3d_labels, trc_labels)
assert c3d_unit == trc_unit == "mm"
assert len(c3d) == len(trc) == len(truth)
assert all(abs(a - b) < 1e-12 for a, b in zip(trc_times, times))
assert abs((len(times) - 1) / (times[-1] - times[0]) - c3d_rate) < 1e-3 and abs(trc_rate - c3d_rate) < 1e-3
seen = 0
for row, of_c3d, of_trc in zip(truth, c3d, trc):
    for k, name in enumerate(names):
        cells = [row[f"{name}_{axis}_m"] for axis in "xyz"]
        if cells[0] == "":
            assert of_c3d[k] is None and of_trc[k] is None, (name, row["t_s"])
            continue
        for axis in range(3):
            x = 1000 * float(cells[axis])
            assert abs(of_c3d[k][axis] - x) <= 6e-8 * abs(x) + 1e-30, (name, row["t_s"], of_c3d[k], x)
            assert abs(of_trc[k][axis] - x) <= 4e-16 * abs(x) + 1e-30, (name, row["t_s"], of_trc[k], x)
        seen += 1
print(f"{seen} points agree")
