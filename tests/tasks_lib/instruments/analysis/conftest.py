"""Real frames and Gwyddion's own library, where they are present."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments.frame import Frame


@pytest.fixture(scope="session")
def real_frame(shared_file: Callable[[str], Path]) -> Callable[[str], Frame]:
    """Read a frame of the real microscope by the stem of its file."""
    from tasks_lib.instruments.nid import read_nid

    def read(stem: str) -> Frame:
        return read_nid(shared_file(f"nid/{stem}.nid")).frame()

    return read


class Gwyddion:
    """The C library that Gwyddion itself measures with."""

    _EXCLUDE, _INCLUDE = 0, 1

    def __init__(self) -> None:
        for name in ("libgobject-2.0.so.0", "libgwyddion2.so.0"):
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        self._lib = ctypes.CDLL("libgwyprocess2.so.0")
        self._lib.gwy_process_type_init()
        self._object = ctypes.CDLL("libgobject-2.0.so.0")

    def _call(self, name: str, result: object, *arguments: object) -> object:
        function = getattr(self._lib, name)
        function.restype = result
        return function(*arguments)

    def field(self, z: np.ndarray, pixel_m: tuple[float, float] = (1.0, 1.0)) -> ctypes.c_void_p:
        lines, points = z.shape
        width, height = (ctypes.c_double(n * one) for n, one in zip((points, lines), pixel_m, strict=True))
        field = ctypes.c_void_p(self._call("gwy_data_field_new", ctypes.c_void_p, points, lines, width, height, 1))
        self.data(field, z.shape)[:] = z
        return field

    def data(self, field: ctypes.c_void_p, shape: tuple[int, int]) -> np.ndarray:
        pointer = self._call("gwy_data_field_get_data", ctypes.POINTER(ctypes.c_double), field)
        return np.ctypeslib.as_array(pointer, shape)

    def free(self, *fields: ctypes.c_void_p) -> None:
        for field in fields:
            self._object.g_object_unref(field)

    def statistics(self, z: np.ndarray) -> tuple[float, float, float, float]:
        """Return Sa, Sq, Ssk and excess kurtosis."""
        field = self.field(z)
        numbers = [ctypes.c_double() for _ in range(5)]
        self._call("gwy_data_field_get_stats", None, field, *map(ctypes.byref, numbers))
        self.free(field)
        _, sa, sq, ssk, excess = (one.value for one in numbers)
        return sa, sq, ssk, excess

    def slope(self, z: np.ndarray, pixel_m: tuple[float, float]) -> float:
        field = self.field(z, pixel_m)
        value = self._call("gwy_data_field_get_surface_slope", ctypes.c_double, field)
        self.free(field)
        return value

    def area(self, z: np.ndarray, pixel_m: tuple[float, float]) -> float:
        field = self.field(z, pixel_m)
        value = self._call("gwy_data_field_get_surface_area", ctypes.c_double, field)
        self.free(field)
        return value

    def without_plane(self, z: np.ndarray, mask: np.ndarray) -> np.ndarray:
        field, where = self.field(z), self.field(mask.astype(float))
        plane = [ctypes.c_double() for _ in range(3)]
        lines, points = z.shape
        self._call(
            "gwy_data_field_area_fit_plane_mask",
            ctypes.c_int, field, where, self._INCLUDE, 0, 0, points, lines, *map(ctypes.byref, plane),
        )  # fmt: skip
        self._call("gwy_data_field_plane_level", None, field, *plane)
        left = self.data(field, z.shape).copy()
        self.free(field, where)
        return left

    def without_polynomial(self, z: np.ndarray, degree: int) -> np.ndarray:
        field = self.field(z)
        coefficients = (ctypes.c_double * ((degree + 1) * (degree + 2) // 2))()
        self._call("gwy_data_field_fit_poly_max", ctypes.c_void_p, field, degree, coefficients)
        self._call("gwy_data_field_subtract_poly_max", None, field, degree, coefficients)
        left = self.data(field, z.shape).copy()
        self.free(field)
        return left

    def grains(self, mask: np.ndarray) -> int:
        field = self.field(mask.astype(float))
        numbers = (ctypes.c_int * mask.size)()
        count = self._call("gwy_data_field_number_grains", ctypes.c_int, field, numbers)
        self.free(field)
        return count

    def otsu(self, z: np.ndarray) -> float:
        field = self.field(z)
        value = self._call("gwy_data_field_otsu_threshold", ctypes.c_double, field)
        self.free(field)
        return value


@pytest.fixture(scope="session")
def gwyddion() -> Gwyddion:
    try:
        return Gwyddion()
    except OSError as error:
        pytest.skip(f"Gwyddion's library is not installed (libgwyddion2-0): {error}")
