#!/usr/bin/env bash
# debootstrap.sh PACKAGES SCRATCH: installs the package found in the folder PACKAGES into a bare system of the same release,
# made in SCRATCH from the registry that apt uses here (or IMPACTLAB_MIRROR), and runs the sample there as a user without rights.
set -euo pipefail
packages=$1 scratch=$2
skip() { echo "skipped: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "a bare system is made by root only"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -e "/usr/share/debootstrap/scripts/$release" ] || skip "debootstrap does not know this system's release '$release'"
mirror=${IMPACTLAB_MIRROR:-$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
  awk -v release="$release" '$2 == release && !seen++ {print $1}')}
[ -n "$mirror" ] || skip "apt names no registry of $release"
wget -q --spider --timeout=30 --tries=2 "${mirror%/}/dists/$release/Release" || skip "$mirror does not answer"
package=$(ls "$packages"/impactlab_*.deb 2>/dev/null) || skip "no package was made"

system=$scratch/system
finish() {
  if mountpoint -q "$system/proc"; then umount "$system/proc"; fi
  rm -rf --one-file-system "$scratch"
}
trap finish EXIT
rm -rf --one-file-system "$scratch" && mkdir -p "$scratch"
say() { "$@" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log" >&2; echo "debootstrap: $* failed" >&2; exit 1; }; }
say debootstrap --variant=minbase "$release" "$system" "$mirror"
mount -t proc proc "$system/proc" || skip "a bare system needs /proc, which cannot be mounted here"
cp "$package" "$system/tmp/impactlab.deb"
within() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
  ${http_proxy:+http_proxy="$http_proxy"} chroot "$@"; }
say within "$system" apt-get install -y --no-install-recommends /tmp/impactlab.deb python3-numpy
# Data below /usr are read only for users; what is written goes to --out.
say within --userspec=nobody "$system" impactlab run /usr/share/impactlab/data/sample/experiment.yaml --out /tmp/run
grep -q '"mu_k"' "$system/tmp/run/fit.json"
grep -q 'plotly' "$system/tmp/run/report.html"
say within --userspec=nobody "$system" python3 -c 'import impactlab; impactlab.predict((0.1, -1), ((1, 0), (0, 1)), 0.5)'
say within "$system" dpkg --purge impactlab
[ ! -e "$system/usr/share/impactlab" ] && [ ! -e "$system/usr/bin/impactlab" ] || { echo "debootstrap: files are left behind" >&2; exit 1; }
echo "installed on $release, run and removed"
