#!/usr/bin/python3
"""Held-out prediction of mrcal beside the figures of opencv_doc_slow_test, on the same corners, folds and measure.

    IMPACTLAB_OPENCV_DOC=.../opencv-doc/examples/data IMPACTLAB_PEERS_DIR=/tmp/peers \\
        build/release/tests/test_calibration_slow --gtest_filter='OpenCvDoc.HeldOut*'
    /usr/bin/python3 tests/calibration/peers/held_out.py /tmp/peers/opencv /tmp/peers/own

Each folder holds corners.csv (pair,camera,id,x_px,y_px; 54 points of a 9 x 6 board of 25 mm in every view) and held_out.csv (solver,pair,
square_px2). Pair i of the file is left out in fold i % 5. mrcal solves the rest in the steps of mrcal-calibrate-cameras: stereographic
seed, geometry, cores, LENSMODEL_OPENCV5 with outlier rejection, and the same with the warp of the board (and once without it). For each
pair left out only the pose of its board is fitted, by least squares over both cameras.

Needs python3-mrcal and scipy. Not a part of the test run.
"""

import csv
import pathlib
import sys

import mrcal
import numpy as np
import scipy.optimize

COLUMNS, ROWS, PITCH = 9, 6, 0.025
SIZE = np.array([[640, 480], [640, 480]], dtype=np.int32)
FOLDS = 5
FOCAL = 540.0  # a rough start, as mrcal asks for [px]
BAD = "02"


def read_corners(path):
    """Pair names and observations[pair, camera, row, column] = (x, y, weight)."""
    names, table = [], {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["pair"] not in names:
                names.append(row["pair"])
            table[row["pair"], int(row["camera"]), int(row["id"])] = (float(row["x_px"]), float(row["y_px"]), 1.0)
    corners = np.array([[[table[name, c, i] for i in range(ROWS * COLUMNS)] for c in (0, 1)] for name in names])
    return names, corners.reshape(len(names), 2, ROWS, COLUMNS, 3)


def solve(corners, warp):
    """Intrinsics, pose of camera 1 from camera 0 and warp, by the steps of mrcal-calibrate-cameras."""
    n = len(corners)
    observations = np.ascontiguousarray(corners.reshape(2 * n, ROWS, COLUMNS, 3)).copy()
    frame_camera = np.array([(f, c) for f in range(n) for c in (0, 1)], dtype=np.int32)
    indices = np.hstack([frame_camera, frame_camera[:, 1:] - 1]).astype(np.int32)
    intrinsics, extrinsics, frames = mrcal.seed_stereographic(
        imagersizes=SIZE, focal_estimate=FOCAL, indices_frame_camera=frame_camera, observations=observations, object_spacing=PITCH)
    common = dict(observations_board=observations, indices_frame_camintrinsics_camextrinsics=indices, observations_point=None,
                  indices_point_camintrinsics_camextrinsics=None, points=None, imagersizes=SIZE, calibration_object_spacing=PITCH,
                  verbose=False)
    for core in (False, True):
        mrcal.optimize(intrinsics=intrinsics, extrinsics_rt_fromref=extrinsics, frames_rt_toref=frames, calobject_warp=None,
                       lensmodel="LENSMODEL_STEREOGRAPHIC", do_optimize_intrinsics_core=core, do_optimize_intrinsics_distortions=False,
                       do_optimize_calobject_warp=False, do_apply_outlier_rejection=False, do_apply_regularization=False, **common)
    intrinsics = np.ascontiguousarray(np.hstack([intrinsics, 1e-6 * np.random.default_rng(1).uniform(-1, 1, (2, 5))]))
    bend = np.zeros(2)
    for with_warp in (False, True) if warp else (False, False):
        stats = mrcal.optimize(intrinsics=intrinsics, extrinsics_rt_fromref=extrinsics, frames_rt_toref=frames,
                               calobject_warp=bend if with_warp else None, lensmodel="LENSMODEL_OPENCV5",
                               do_optimize_intrinsics_core=True, do_optimize_intrinsics_distortions=True, do_optimize_extrinsics=True,
                               do_optimize_frames=True, do_optimize_calobject_warp=with_warp, do_apply_outlier_rejection=True,
                               do_apply_regularization=True, **common)
    return intrinsics, extrinsics[0], bend, stats


def held_out_square(solution, pair):
    """Sum of squared residuals [px^2] of a pair whose board pose alone was fitted."""
    intrinsics, extrinsics, warp, _ = solution
    board = mrcal.ref_calibration_object(COLUMNS, ROWS, PITCH, calobject_warp=warp)
    observed = pair[..., :2]

    def residuals(rt):
        p0 = mrcal.transform_point_rt(rt, board)
        p1 = mrcal.transform_point_rt(extrinsics, p0)
        q = np.stack([mrcal.project(p, "LENSMODEL_OPENCV5", x) for p, x in zip((p0, p1), intrinsics)])
        return (q - observed).ravel()

    Rt = mrcal.estimate_monocular_calobject_poses_Rt_tocam(np.zeros((1, 2), dtype=np.int32), np.ascontiguousarray(pair[:1]), PITCH,
                                                           [("LENSMODEL_OPENCV5", intrinsics[0])])
    start = mrcal.rt_from_Rt(Rt[0])
    return 2 * scipy.optimize.least_squares(residuals, start, x_scale="jac", xtol=1e-14, ftol=1e-14, gtol=1e-14).cost


def main(folders):
    for folder in map(pathlib.Path, folders):
        names, corners = read_corners(folder / "corners.csv")
        squares = {}
        with open(folder / "held_out.csv", newline="") as file:
            for row in csv.DictReader(file):
                squares.setdefault(row["solver"], {})[row["pair"]] = float(row["square_px2"])
        for label, warp in (("mrcal", True), ("mrcal, flat board", False)):
            squares[label] = {}
            for fold in range(FOLDS):
                out = np.arange(len(names)) % FOLDS == fold
                solution = solve(corners[~out], warp)
                for i in np.flatnonzero(out):
                    squares[label][names[i]] = held_out_square(solution, corners[i])
            solution = solve(corners, warp)
            print(f"{label}, all pairs: rms {np.sqrt(2) * solution[3]['rms_reproj_error__pixels']:.4f} px, "
                  f"{solution[3]['Noutliers']} outliers, baseline {1e3 * np.linalg.norm(solution[1][3:]):.4f} mm")
        points = 2 * ROWS * COLUMNS
        rms = {solver: np.sqrt(np.array([by_pair[name] for name in names]) / points) for solver, by_pair in squares.items()}
        good = np.array([name != BAD for name in names])
        ours = rms["ours"]
        print(f"\n| corners: {folder.name} | held-out rms [px] | without pair {BAD} | ours minus it, mean over pairs | paired standard error |")
        print("|---|---|---|---|---|")
        for solver, per_pair in rms.items():
            difference = ours - per_pair
            error = difference.std(ddof=1) / np.sqrt(len(names))
            print(f"| {solver} | {np.sqrt((per_pair**2).mean()):.4f} | {np.sqrt((per_pair[good]**2).mean()):.4f} | "
                  f"{difference.mean():+.4f} | {error:.4f} |")
        print()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
