#!/usr/bin/env bash
# package.sh BUILD SCRATCH: makes the packages of a finished build and uses them as they are unpacked: contents,
# dependencies, the sample from the installed tree, the Python module, the manual page, completions, the development files.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1 scratch=$2
fail() { echo "package: $*" >&2; exit 1; }
command -v dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg-shlibdeps is not installed (Debian package dpkg-dev)"; exit 0; }

rm -rf "$scratch" && mkdir -p "$scratch"
# The packages that users get are compressed harder; what is in them is the same.
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$scratch" -D CPACK_DEBIAN_COMPRESSION_TYPE=zstd >"$scratch/cpack.log" 2>&1 ||
  { cat "$scratch/cpack.log" >&2; fail "cpack -G DEB failed"; }
rm -rf "$scratch/_CPack_Packages"
version=$("$build/impactlab" --version | awk '{print $2}')
grep -q "^version: $version\$" "$source/CITATION.cff" || fail "CITATION.cff does not name version $version"
architecture=$(dpkg --print-architecture)
user=$scratch/impactlab_${version}_$architecture.deb dev=$scratch/impactlab-dev_${version}_$architecture.deb
[ -f "$user" ] && [ -f "$dev" ] || fail "found $(ls "$scratch"), expected $(basename "$user") and $(basename "$dev")"

# What users get: no headers or libraries to link, dependencies that apt can resolve, none of them for development.
tree=$scratch/unpacked
dpkg-deb -x "$user" "$tree"
[ -z "$(find "$tree" -name '*.h' -o -name '*.a' -o -name '*.cmake')" ] || fail "the package for users holds files for developers"
depends=$(dpkg-deb -f "$user" Depends)
case $depends in *libopencv-core*) ;; *) fail "dependencies were not found: $depends" ;; esac
case $depends in *-dev*) fail "depends on a package for development: $depends" ;; esac
[ "$(dpkg-deb -f "$user" Recommends)" = python3-numpy ] || fail "python3-numpy is not recommended"
if apt-get -s install bash >/dev/null 2>&1; then
  apt-get -s install "$user" >"$scratch/apt.log" 2>&1 || { cat "$scratch/apt.log" >&2; fail "apt-get cannot resolve its dependencies"; }
else
  echo "note: apt-get answers nothing here; dependencies are held against ldd only"
fi
for object in "$tree/usr/bin/impactlab" "$tree"/usr/lib/python3/dist-packages/impactlab/*.so; do
  [ -f "$object" ] || continue
  missing=$(ldd "$object" | grep 'not found' || true)
  [ -z "$missing" ] || fail "$object: $missing"
done

# The sample, by the program and with the data of the unpacked tree; reports are drawn by its plotting library.
share=$tree/usr/share/impactlab
echo "/* of the package */" >>"$share/plotly-cartesian.min.js"
(cd "$share" && env -i PATH=/usr/bin:/bin HOME="$scratch" "$tree/usr/bin/impactlab" run data/sample/experiment.yaml --out "$scratch/run" --quiet)
grep -q '"mu_k"' "$scratch/run/fit.json" || fail "the sample gave no fit"
grep -q 'of the package' "$scratch/run/report.html" || fail "the report is not drawn by the plotting library of the package"
for folder in scenarios maps plans systems diagrams experiments published reference; do
  ls "$share/data/$folder"/*.yaml >/dev/null 2>&1 || fail "the package has no data/$folder"
done
[ -f "$tree/usr/share/doc/impactlab/copyright" ] || fail "no copyright file"
grep -q Plotly "$tree/usr/share/doc/impactlab/copyright" || fail "the copyright file does not name the plotting library"

# The Python module where Debian's python3 looks for it.
if ls "$build"/python/impactlab/*.so >/dev/null 2>&1; then
  PYTHONPATH=$tree/usr/lib/python3/dist-packages /usr/bin/python3 -c "
import impactlab
assert impactlab.__file__.startswith('$tree'), impactlab.__file__
assert abs(impactlab.predict((0.1, -1), ((1, 0), (0, 1)), 0.5)['v_plus_F_m_per_s'][0][1] - 0.5) < 1e-12" ||
    fail "the Python module does not work"
fi

# Manual page and completions: every verb is in them.
page=$tree/usr/share/man/man1/impactlab.1.gz
verbs=$("$build/impactlab" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]\+\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 20 ] || fail "verbs found in --help: $verbs"
for verb in $verbs; do
  zgrep -q "^\.SS $verb\$" "$page" || fail "the manual page does not explain $verb"
  grep -q "[ \"]$verb[ \")]" "$tree/usr/share/bash-completion/completions/impactlab" || fail "no completion of $verb"
done
if command -v man >/dev/null && command -v lexgrog >/dev/null; then
  lexgrog "$page" | grep -q 'impactlab - ' || fail "the manual page has no name that apropos finds"
  warnings=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
  [ -z "$warnings" ] || fail "the manual page: $warnings"
else
  echo "note: man is not installed; the manual page was not set"
fi
bash -c "source '$tree/usr/share/bash-completion/completions/impactlab' && complete -p impactlab" >/dev/null || fail "no completion in bash"

# The package for developers: an example is configured against it, built and run.
dpkg-deb -x "$dev" "$scratch/dev"
[ -f "$scratch/dev/usr/include/impactlab/impact/law/solve.h" ] || fail "the package for developers has no headers"
cmake -S "$source/tests/install" -B "$scratch/example" -DCMAKE_BUILD_TYPE=Debug -DROOMS=impact \
  -DCMAKE_PREFIX_PATH="$scratch/dev/usr" >"$scratch/example.log" 2>&1 &&
  cmake --build "$scratch/example" >>"$scratch/example.log" 2>&1 && "$scratch/example/example" >>"$scratch/example.log" ||
  { cat "$scratch/example.log" >&2; fail "an example against the package for developers"; }

# The archive, unpacked anywhere.
cpack -G TGZ --config "$build/CPackConfig.cmake" -B "$scratch" -D CPACK_COMPONENTS_ALL='program;packaged_python' >"$scratch/cpack.log" 2>&1 ||
  { cat "$scratch/cpack.log" >&2; fail "cpack -G TGZ failed"; }
rm -rf "$scratch/_CPack_Packages"
mkdir "$scratch/an archive"
tar -xzf "$scratch"/impactlab-"$version"-*.tar.gz -C "$scratch/an archive"
[ "$("$scratch/an archive"/*/bin/impactlab --version)" = "impactlab $version" ] || fail "the program of the archive does not run"
echo "user $(du -h "$user" | cut -f1), dev $(du -h "$dev" | cut -f1): unpacked, linked, run"
