from os import PathLike
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

Numbers = npt.ArrayLike
Doubles = npt.NDArray[np.float64]
Path = Union[str, PathLike[str]]

__version__: str
COMPLIANT_LAWS: tuple[str, ...]
LAWS: tuple[str, ...]
EVENT_COMPONENTS: tuple[str, ...]

class ConfigError(ValueError): ...
class DataError(ValueError): ...

class Body:
    @staticmethod
    def box(sides_m: Numbers, mass_kg: float, *, planar: bool = False, corner_radius_m: float = 0.0) -> Body: ...
    @staticmethod
    def rod(length_m: float, radius_m: float, mass_kg: float, *, planar: bool = False) -> Body: ...
    @staticmethod
    def ball(radius_m: float, mass_kg: float, *, planar: bool = False) -> Body: ...
    @staticmethod
    def disc(radius_m: float, mass_kg: float) -> Body: ...
    @staticmethod
    def ellipsoid(semi_axes_m: Numbers, mass_kg: float, *, planar: bool = False) -> Body: ...
    @staticmethod
    def ellipse(semi_axis_x_m: float, semi_axis_z_m: float, mass_kg: float) -> Body: ...
    @staticmethod
    def polytope(vertices_m: Numbers, mass_kg: float, *, planar: bool = False, corner_radius_m: float = 0.0) -> Body: ...
    @staticmethod
    def points(points_m: Numbers, mass_kg: float, inertia_B_kg_m2: Numbers, *, planar: bool = False) -> Body: ...
    @property
    def mass_kg(self) -> float: ...
    @property
    def planar(self) -> bool: ...
    @property
    def inertia_B_kg_m2(self) -> Doubles: ...
    @property
    def vertices_B_m(self) -> Doubles: ...

class Events:
    @staticmethod
    def from_arrays(
        body: Body,
        *,
        v_minus_m_per_s: Numbers,
        omega_minus_rad_per_s: Numbers,
        v_plus_m_per_s: Numbers,
        omega_plus_rad_per_s: Numbers,
        lever_m: Numbers,
        cov: Optional[Numbers] = None,
        quaternion: Optional[Numbers] = None,
        position_m: Optional[Numbers] = None,
        recording: Optional[Sequence[str]] = None,
        normal: Numbers = (0.0, 0.0, 1.0),
        offset_m: float = 0.0,
        gravity_m_per_s2: Numbers = (0.0, 0.0, -9.80665),
    ) -> Events: ...
    def arrays(self) -> dict[str, npt.NDArray[Any]]: ...
    def write(self, folder: Path) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, which: Any) -> Events: ...

class Rig:
    @property
    def cameras(self) -> list[str]: ...
    @property
    def parameter_names(self) -> list[str]: ...
    @property
    def covariance(self) -> Doubles: ...
    @property
    def gravity_direction_W(self) -> Optional[Doubles]: ...
    def camera(self, name: str) -> dict[str, Any]: ...
    def project(self, camera: str, p_m: Numbers) -> Doubles: ...
    def rays(self, camera: str, q_px: Numbers) -> tuple[Doubles, Doubles]: ...
    def triangulate(self, q_px: Numbers, cov_px2: Numbers, *, max_relative_sd: float = 0.3, threads: int = 0) -> dict[str, npt.NDArray[Any]]: ...
    def rigidity(
        self, before_px: Numbers, after_px: Numbers, cov_px2: Numbers, *, plane_z_m: Optional[float] = None, significance: float = 0.001
    ) -> dict[str, Any]: ...
    def yaml(self) -> str: ...

class Experiment:
    @property
    def name(self) -> str: ...
    @property
    def body(self) -> Body: ...
    @property
    def gravity_m_per_s2(self) -> Doubles: ...
    @property
    def floor_normal(self) -> Doubles: ...
    @property
    def floor_offset_m(self) -> float: ...
    def load_events(self, path: Path) -> Events: ...
    def identify(self, events: Events, force_coefficients: bool = False) -> dict[str, Any]: ...
    def yaml(self) -> str: ...

def predict(
    v_minus_F_m_per_s: Numbers,
    A_F_per_kg: Numbers,
    e: Numbers = 0.5,
    mu_k: Numbers = 0.2,
    mu_s: Optional[Numbers] = None,
    e_t: Numbers = 0.0,
    *,
    law: str = "energetic",
    certify: bool = True,
    threads: int = 0,
) -> dict[str, npt.NDArray[Any]]: ...
def derivatives(
    v_minus_F_m_per_s: Numbers,
    A_F_per_kg: Numbers,
    e: Numbers = 0.5,
    mu_k: Numbers = 0.2,
    mu_s: Optional[Numbers] = None,
    *,
    law: str = "energetic",
    threads: int = 0,
) -> dict[str, npt.NDArray[Any]]: ...
def energetic_map(
    v_minus_F_m_per_s: Numbers,
    A_F_per_kg: Numbers,
    e: Numbers = 0.5,
    mu_k: Numbers = 0.2,
    mu_s: Optional[Numbers] = None,
    *,
    threads: int = 0,
) -> dict[str, npt.NDArray[Any]]: ...
def painleve(
    v_F_m_per_s: Numbers, A_F_per_kg: Numbers, mu_k: Numbers, free_acceleration_n_m_per_s2: Numbers, *, threads: int = 0
) -> dict[str, npt.NDArray[Any]]: ...
def rod_critical_friction(theta_rad: Numbers, gyration_over_lever: Numbers = 0.5773502691896258) -> dict[str, Doubles]: ...
def routh(
    v_minus_F_m_per_s: Numbers, A_F_per_kg: Numbers, e: float = 0.5, mu_k: float = 0.2, mu_s: Optional[float] = None
) -> dict[str, Any]: ...
def compliant_restitution(
    law: str,
    mass_kg: Numbers,
    speed_m_per_s: Numbers,
    *,
    stiffness: Numbers = 1000000.0,
    power: Numbers = 1.5,
    damping: Numbers = 0.0,
    residual: Numbers = 0.0,
) -> Doubles: ...
def speed_restitution(speed_m_per_s: Numbers, alpha: Numbers, exponent: Numbers) -> Doubles: ...
def hunt_crossley_damping(e: Numbers, speed_m_per_s: Numbers) -> Doubles: ...
def predict_system(path: Path) -> dict[str, Any]: ...
def predict_system_yaml(text: str) -> dict[str, Any]: ...
def simulate(path: Path) -> dict[str, Any]: ...
def simulate_yaml(text: str) -> dict[str, Any]: ...
def find_orbit(path: Path, *, numbers: Mapping[str, float] = {}, periods: int = 1, period_s: float = 0.0) -> dict[str, Any]: ...
def follow_orbit(
    path: Path,
    key: str,
    first: float,
    step: float,
    low: float,
    high: float,
    *,
    numbers: Mapping[str, float] = {},
    periods: int = 1,
    period_s: float = 0.0,
    most_points: int = 500,
) -> dict[str, Any]: ...
def contact_states(
    body: Body,
    position_m: Numbers,
    quaternion: Numbers,
    v_m_per_s: Numbers,
    omega_rad_per_s: Numbers,
    *,
    normal: Numbers = (0.0, 0.0, 1.0),
    offset_m: float = 0.0,
    gravity_m_per_s2: Numbers = (0.0, 0.0, -9.80665),
) -> dict[str, Doubles]: ...
def load_events(
    path: Path,
    body: Body,
    *,
    normal: Numbers = (0.0, 0.0, 1.0),
    offset_m: float = 0.0,
    gravity_m_per_s2: Numbers = (0.0, 0.0, -9.80665),
) -> Events: ...
def identify(
    events: Events,
    body: Body,
    *,
    laws: Sequence[str] = ...,
    likelihood: str = "adaptive",
    fit_discrepancy: bool = True,
    fit_mu_s: bool = False,
    bootstrap: int = 0,
    grid: int = 0,
    seed: int = 1,
    force_coefficients: bool = False,
) -> dict[str, Any]: ...
def load_rig(path: Path) -> Rig: ...
def load_tracks(path: Path) -> list[dict[str, Any]]: ...
def load_experiment(path: Path) -> Experiment: ...
def run(
    experiment: Path,
    out: Path = "out",
    *,
    recordings: str = "",
    threads: int = 0,
    report: bool = True,
    bootstrap: int = -1,
    require: Sequence[str] = [],
    force: bool = False,
    move_aside: bool = False,
    force_coefficients: bool = False,
) -> int: ...
def load_run(path: Path) -> dict[str, Any]: ...
