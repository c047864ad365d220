#!/usr/bin/env python3
"""Holds the structure of the sources: check_structure.py includes ROOT | laws ROOT | symbols ROOT ARCHIVE...

includes: every #include runs in the direction of layout.txt, no folder reads another one's private headers (folders
`detail`), public headers show the standard library and Eigen only, no folder holds more than 30 sources, no file more
than 570 lines.
laws: the words of laws and of their coefficients stand in the tables of laws only; no other source writes one as text.
symbols: no name is defined twice in the archives of the rooms, and no type twice in one namespace.
"""
import collections, pathlib, re, subprocess, sys

ROOMS = ("data", "calibration", "tracking", "impact", "reconstruction", "pipelines")
MOST_FILES, MOST_LINES = 30, 570
FOREIGN = re.compile(r'^#include [<"](ceres|opencv2|yaml-cpp|fmt|nlohmann|boost|toml|matio|lib(?:av|sw)\w+|pybind11|'
                     r'openssl|hdf5|cairo|librsvg|libqhullcpp|libqhull_r)[/.>]', re.M)


def read_layout():
    rank, rooms, room, line_number = {}, {}, None, 0
    for line in (pathlib.Path(__file__).parent / "layout.txt").read_text().splitlines():
        if line.startswith("room "):
            room, _, left = line[5:].partition(":")
            rooms[room] = set(left.split())
            line_number = 0
        elif line.strip() and not line.startswith("#"):
            line_number += 1
            for folder in line.split():
                rank[f"{room}/{folder}"] = line_number
    return rank, rooms


def sources(root):
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path.relative_to(root)


def folder_of(path):
    parts = [p for p in path.parent.parts if p != "detail"]
    return "/".join(parts)


def check_includes(root):
    rank, rooms = read_layout()
    faults, count, used = [], collections.Counter(), set()
    for path in sources(root):
        text = (root / path).read_text()
        here = folder_of(path)
        count[str(path.parent)] += 1
        if text.count("\n") > MOST_LINES:
            faults.append(f"{path}: {text.count(chr(10))} lines, allowed {MOST_LINES}")
        if here not in rank:
            faults.append(f"{path}: folder {here} does not stand in tests/structure/layout.txt")
            continue
        used.add(here)
        private = path.parent.name == "detail" or path.name.endswith(("_json.h", "_opencv.h")) or here == "pipelines/python"
        if path.suffix == ".h" and not private:
            for match in FOREIGN.finditer(text):
                faults.append(f"{path}: public header shows {match.group(1)}")
        for include in re.findall(r'^#include "([^"]+)"', text, re.M):
            target = pathlib.PurePosixPath(include)
            if not (root / include).exists():
                if target.parts[0] in ROOMS:
                    faults.append(f"{path}: {include} does not exist")
                continue
            there = folder_of(target)
            if target.parts[0] == "tests":
                faults.append(f"{path}: includes {include}")
            elif there == here:
                continue
            elif target.parent.name == "detail":
                faults.append(f"{path}: {include} is private to {there}")
            elif here.split("/")[0] == there.split("/")[0]:
                if rank[there] >= rank[here]:
                    faults.append(f"{path}: {include} runs against the order of folders")
            elif there.split("/")[0] not in rooms[here.split("/")[0]]:
                faults.append(f"{path}: {include} runs against the order of rooms")
    faults += [f"{folder}: {n} sources, allowed {MOST_FILES}" for folder, n in count.items() if n > MOST_FILES]
    faults += [f"layout.txt: folder {folder} holds no source" for folder in rank if folder not in used]
    return faults


# Where the words of laws are written: a row a value of the enum.
LAW_TABLES = ("data/files/restitution_law.h", "impact/law/impulse_law.h", "impact/law/compliant.h", "impact/multi/outcome.h")
# Texts that may name laws all the same, and why.
NAMES_LAWS = {
    "impact/multi/certify.cc": "a check of the motion of springs, named after them",
    "impact/multi/global.cc": "an option of the global energetic law, named after its field",
    "pipelines/cli/new_folder.cc": "example files, which their owner edits",
    "pipelines/bench_tests/bench_tests.cc": "a bench test measures Newton's coefficient whatever laws there are",
    "pipelines/map/picture.cc": "what set an impulse, not a law",
    "pipelines/simulate/predict_system_files.cc": "keys of a system file, named after what they set",
    "pipelines/simulate/system_config.cc": "keys of a system file, named after what they set",
}
LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.S)


def literals(text):
    """(line, text) of every string literal; the tables of #include are none."""
    for match in LITERAL.finditer(text):
        inner = match.group(2) if match.group(2) is not None else match.group(3)
        if inner is not None and not text[:match.start()].rpartition("\n")[2].startswith("#include"):
            yield text.count("\n", 0, match.start()) + 1, inner


def check_laws(root):
    words, names = set(), set()
    for table in LAW_TABLES:
        text = (root / table).read_text()
        rows = re.findall(r'\.(?:word|coefficient) = "(\w+)"', text)
        if not rows:
            return [f"{table}: holds no rows with .word"]
        words.update(rows)
        # In sentences a law may be called the energetic one; its other words and those of coefficients are no prose.
        if table == LAW_TABLES[0]:
            names.update(word for word in rows if word != "energetic")
    inside = re.compile(r"(?<![\w.])(?:%s)(?!\w)" % "|".join(sorted(names)))
    faults, used = [], set()
    for path in sources(root):
        if str(path) in LAW_TABLES:
            continue
        for line, text in literals((root / path).read_text()):
            if text not in words and not inside.search(text):
                continue
            used.add(str(path))
            if str(path) not in NAMES_LAWS:
                faults.append(f"{path}:{line}: \"{text[:60]}\" names a law; take it from its table ({', '.join(LAW_TABLES)})")
    return faults + [f"{path}: is allowed to name laws ({reason}) and names none"
                     for path, reason in NAMES_LAWS.items() if path not in used]


def check_symbols(root, archives):
    faults = []
    strong, weak = collections.defaultdict(set), collections.defaultdict(set)
    for archive in archives:
        member = ""
        for line in subprocess.run(["nm", "-C", "--defined-only", archive], capture_output=True, text=True,
                                   check=True).stdout.splitlines():
            if line.endswith(".o:"):
                member = f"{pathlib.Path(archive).name}({line[:-1]})"
                continue
            fields = line.split(None, 2)
            if len(fields) == 3 and "impactlab" in fields[2]:
                if fields[1] in "TDBR":
                    strong[fields[2]].add(member)
                elif fields[1] in "WVu" and "[clone" not in fields[2]:
                    weak[fields[2]].add(member)
    for name, members in strong.items():
        others = members | weak.get(name, set())
        # A member of a template that is instantiated once for all stays strong; two bodies are two members.
        if len(others) > 1:
            faults.append(f"{name} is defined in {', '.join(sorted(others))}")
    types = collections.defaultdict(set)
    for path in sources(root):
        spaces = []
        for line in (root / path).read_text().splitlines():
            opened = re.match(r"(?:inline )?namespace ?([\w:]*) ?\{", line)
            if opened:
                spaces.append(opened.group(1))
            elif re.match(r"\}  // namespace", line) and spaces:
                spaces.pop()
            elif spaces and "" not in spaces:
                named = re.match(r"(?:template <.*> )?(?:struct|class|enum class|enum) (\w+)(?: final)?(?: :[^;]*)? \{", line)
                if named:
                    types["::".join(spaces) + "::" + named.group(1)].add(str(path))
    faults += [f"type {name} is defined in {', '.join(sorted(files))}" for name, files in types.items() if len(files) > 1]
    return faults


def main():
    checks = {"includes": check_includes, "laws": check_laws, "symbols": lambda root: check_symbols(root, sys.argv[3:])}
    if len(sys.argv) < 3 or sys.argv[1] not in checks:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[2])
    faults = checks[sys.argv[1]](root)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
