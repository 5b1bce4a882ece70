"""Inputs and gold of the microscopy tasks (``taskdefs/mattoolbench/microscopy``), with the truth of both."""

from __future__ import annotations

import numpy as np

from infra.inputs.micrographs import Disc, Field, discs, fringes, gsf, levels, noise, pixels, png, scattered, tiff

NM = 1e-9

# A film that lies askew in the microscope: grains 3.2 nm deep in the root mean square, and the tilt of the sample.
FILM_PIXEL = 8 * NM
FILM_ROUGHNESS = 3.2 * NM
FILM_TILT = (0.031, -0.018)  # rise over run along x and y

# Planes of silicon (111) seen edge-on, without a scale; the instrument gives 40 pixels a nanometre.
PLANES_PIXEL = 0.025  # nm
SILICON_111 = 0.3135  # nm


# A smooth polymer film with three crumbs of dust, which take the whole colour scale for themselves.
POLYMER_PIXEL = 10 * NM
POLYMER_DUST = (Disc(37.0, 58.0, 5.0, 64 * NM), Disc(139.0, 31.0, 4.0, 71 * NM), Disc(112.0, 150.0, 6.0, 58 * NM))

# Flakes on a substrate: one of them, left of the middle, is to be cut out with its surroundings.
FLAKES_PIXEL = 12.5 * NM
FLAKES = (
    Disc(92.0, 52.0, 21.0, 5.4 * NM),
    Disc(40.0, 120.0, 26.0, 3.8 * NM),
    Disc(140.0, 130.0, 30.0, 7.1 * NM),
    Disc(158.0, 40.0, 17.0, 4.6 * NM),
)

# A grating seen through a scanner whose calibration is out: 4800 nm were written where 5000 nm were scanned, and
# heights came out too large by 1 / 0.88.
GRATING_WRITTEN = 4800 * NM
GRATING_TRUE = 5000 * NM
GRATING_PERIOD = 24.0  # px
GRATING_DEPTH = 25.0 * NM  # as written


# A camera's flat field: three steps of dose, and in the middle one a block of columns with a second amplifier.
CAMERA_DOSES = (640.0, 1150.0, 1710.0)
CAMERA_SIGMA = (14.0, 23.0, 31.0)

# Grey levels of a diffraction pattern: a beam that is far brighter than its reflections.
BEAM_LEVEL = 52000.0
SPOT_LEVEL = 1900.0

# Particles in dark field: those that count, specks of a few pixels, and particles that the edge cuts.
PARTICLE_PIXEL = 0.8  # nm
PARTICLES = scattered(31, 256, (6.0, 13.0), 172.0, 20260410, gap=5.0)
SPECKS = tuple(
    Disc(x, y, 1.6, 176.0)
    for x, y in ((12.0, 22.0), (246.0, 120.0), (120.0, 8.0), (5.0, 104.0), (200.0, 248.0), (60.0, 249.0))
)
CUT_PARTICLES = (Disc(0.0, 70.0, 9.0, 168.0), Disc(256.0, 200.0, 10.0, 170.0), Disc(150.0, 256.0, 8.0, 171.0))

# Planes of gold (111), upright in the picture, with an amorphous rim below row 190.
GOLD_PIXEL = 0.020  # nm
GOLD_111 = 0.2355  # nm
GOLD_RIM = 190
PROFILE = (20, 96, 200, 24)  # x, y, width and height of the strip that is averaged, px

# Terraces of a stepped crystal: bilayers that rise to the right, one plane of tilt over all of them.
TERRACE_PIXEL = 4 * NM
TERRACE_STEP = 0.314 * NM
TERRACE_EDGES = (44.0, 96.0, 148.0)  # x of the steps in the middle of the map, px
TERRACE_TILT = (-0.0046, 0.0031)

# Scan lines that jump: the tip was knocked now and then, and each line has an offset of its own.
LINES_PIXEL = 6 * NM
LINES_JUMP = 2.6 * NM

# Catalyst islands on a tilted support: the tall ones count; low ones and crumbs of a few pixels do not.
ISLAND_PIXEL = 5 * NM
ISLANDS = scattered(31, 192, (5.0, 9.0), 12 * NM, 20260413, gap=4.0)
TALL_ISLANDS, LOW_ISLANDS = ISLANDS[:23], ISLANDS[23:]
CRUMBS = tuple(
    Disc(x, y, 1.8, 12 * NM)
    for x, y in ((9.0, 9.0), (183.0, 100.0), (96.0, 6.0), (6.0, 96.0), (186.0, 184.0), (100.0, 186.0))
)
SUPPORT_TILT = (0.021, 0.012)

# A film of carbon with a hole, the defect that is to be marked.
HOLE = Disc(141.0, 96.0, 13.0, -74.0)


def camera_flat() -> Field:
    """Return counts of three fields of 100 columns each, 160 rows high."""
    parts = [
        dose + noise(100, 160, sigma, 20260406 + at)
        for at, (dose, sigma) in enumerate(zip(CAMERA_DOSES, CAMERA_SIGMA, strict=True))
    ]
    parts[1][:, 60:] += 85.0
    return np.hstack(parts)


def diffraction_pattern() -> Field:
    """Return grey levels of 16 bits: a beam, rings of reflections in a square net, a faint ground."""
    x, y = pixels(256, 256)
    field = 420.0 * np.exp(-np.hypot(x - 128.0, y - 128.0) / 60.0) + 260.0 + noise(256, 256, 18.0, 20260409)
    for h in range(-3, 4):
        for k in range(-3, 4):
            r2 = (x - 128.0 - 36.0 * h) ** 2 + (y - 128.0 - 36.0 * k) ** 2
            level = BEAM_LEVEL if h == k == 0 else SPOT_LEVEL / (h * h + k * k) ** 0.5
            field += level * np.exp(-r2 / (2.0 * 2.4**2))
    return field


def particle_field() -> Field:
    """Return grey levels: bright particles on a dark ground."""
    bright = discs(256, 256, PARTICLES) + discs(256, 256, SPECKS) + discs(256, 256, CUT_PARTICLES)
    return np.where(bright > 0.0, bright, 38.0) + noise(256, 256, 7.0, 20260411)


def particle_table() -> bytes:
    """Return the areas, nm², of the particles that lie whole in the picture, counted in the discs that were drawn."""
    areas = [discs(256, 256, (disc,)).astype(bool).sum() * PARTICLE_PIXEL**2 for disc in PARTICLES]
    return "".join(["Area\n", *(f"{area:.3f}\n" for area in sorted(areas))]).encode()


def holey_film() -> Field:
    """Return grey levels: a mottled film with one dark hole."""
    return 150.0 + noise(240, 180, 9.0, 20260412, smooth=1.5) + discs(240, 180, (HOLE,))


def gold_planes() -> Field:
    """Return grey levels: fringes along x that end at the rim, in noise."""
    waves = fringes(256, 256, GOLD_111 / GOLD_PIXEL, 0.0, 34.0)
    waves[GOLD_RIM:] = 0.0
    return 118.0 + waves + noise(256, 256, 20.0, 20260415)


def gold_profile() -> bytes:
    """Return the profile across the planes: the mean of each column of the strip, over its distance in nm."""
    x, y, width, height = PROFILE
    strip = levels(gold_planes(), np.uint8)[y : y + height, x : x + width].astype(np.float64)
    rows = enumerate(strip.mean(axis=0))
    return "".join(["Distance,Gray_Value\n", *(f"{at * GOLD_PIXEL:.3f},{value:.4f}\n" for at, value in rows)]).encode()


def gold_strip() -> bytes:
    """Return the strip that is averaged as a PNG picture."""
    x, y, width, height = PROFILE
    return png(levels(gold_planes(), np.uint8)[y : y + height, x : x + width])


def flat_terraces() -> Field:
    """Return heights in metres: four terraces with slightly bent steps, not tilted."""
    x, y = pixels(192, 192)
    bend = 5.0 * np.sin(y / 31.0)
    level = sum((x > edge + bend).astype(np.float64) for edge in TERRACE_EDGES)
    return TERRACE_STEP * level + noise(192, 192, 0.004 * NM, 20260416)


def tilted_terraces() -> Field:
    """Return the terraces as they lay in the microscope, heights in metres."""
    x, y = pixels(192, 192)
    return flat_terraces() + TERRACE_PIXEL * (TERRACE_TILT[0] * x + TERRACE_TILT[1] * y) + 12 * NM


def jumping_lines() -> Field:
    """Return heights in metres: pits and islands on a flat ground, with an offset of every scan line."""
    random = np.random.default_rng(20260417)
    jumps = LINES_JUMP * np.cumsum(random.choice((-1.0, 0.0, 0.0, 1.0), 192))
    dots = scattered(26, 192, (4.0, 9.0), 9 * NM, 20260418)
    return discs(192, 192, dots) + noise(192, 192, 0.35 * NM, 20260419) + jumps[:, None] + 60 * NM


def catalyst_islands() -> Field:
    """Return heights in metres: islands of two heights and crumbs on a tilted support."""
    x, y = pixels(192, 192)
    low = tuple(Disc(disc.x, disc.y, disc.radius, 4 * NM) for disc in LOW_ISLANDS)
    height = discs(192, 192, TALL_ISLANDS) + discs(192, 192, low) + discs(192, 192, CRUMBS)
    tilt = ISLAND_PIXEL * (SUPPORT_TILT[0] * x + SUPPORT_TILT[1] * y)
    return height + tilt + noise(192, 192, 0.4 * NM, 20260414) + 3 * NM


def polymer_film() -> Field:
    """Return heights in metres: a film of 1.8 nm roughness around 7 nm, and dust on it."""
    film = 7 * NM + noise(192, 192, 1.8 * NM, 20260403, smooth=4.0)
    return film + discs(192, 192, POLYMER_DUST)


def flakes() -> Field:
    """Return heights in metres: flat flakes on a ground that rises by 0.06 nm a pixel to the right, 0.04 nm down."""
    x, y = pixels(192, 192)
    ground = 2 * NM + (0.06 * x + 0.04 * y) * NM
    return ground + discs(192, 192, FLAKES) + noise(192, 192, 0.25 * NM, 20260404)


def grating() -> Field:
    """Return heights in metres as the scanner wrote them: bars with rounded edges."""
    bars = np.tanh(2.5 * fringes(200, 200, GRATING_PERIOD, 0.0, 1.0)) / np.tanh(2.5)
    return GRATING_DEPTH * (bars + 1.0) / 2.0 + noise(200, 200, 0.3 * NM, 20260405)


def tilted_film() -> Field:
    """Return heights in metres: a rough film on a tilted plane."""
    x, y = pixels(192, 192)
    rough = noise(192, 192, FILM_ROUGHNESS, 20260401, smooth=2.5)
    return rough + FILM_PIXEL * (FILM_TILT[0] * x + FILM_TILT[1] * y) + 41 * NM


def silicon_planes() -> Field:
    """Return grey levels: fringes of the (111) planes with shot noise."""
    waves = fringes(256, 256, SILICON_111 / PLANES_PIXEL, 24.0, 58.0)
    return 122.0 + waves + noise(256, 256, 14.0, 20260402)


def files() -> dict[str, bytes]:
    """Return the inputs: path below ``taskdefs/mattoolbench/microscopy`` -> content."""
    return {
        "tilted-film/inputs/film.gsf": gsf(tilted_film(), FILM_PIXEL, "Height"),
        "catalyst-islands/inputs/islands.gsf": gsf(catalyst_islands(), ISLAND_PIXEL, "Height"),
        "fringe-profile/inputs/gold.tif": tiff(levels(gold_planes(), np.uint8), GOLD_PIXEL),
        "fringe-profile/gold/profile.csv": gold_profile(),
        "fringe-profile/gold/strip.png": gold_strip(),
        "fft-spots/inputs/planes.gsf": gsf(silicon_planes(), PLANES_PIXEL * NM, "Intensity", z_unit=""),
        "stepped-crystal/inputs/terraces.gsf": gsf(tilted_terraces(), TERRACE_PIXEL, "Height"),
        "jumping-lines/inputs/lines.gsf": gsf(jumping_lines(), LINES_PIXEL, "Height"),
        "camera-noise/inputs/flat.tif": tiff(levels(camera_flat(), np.uint16)),
        "diffraction-range/inputs/pattern.tif": tiff(levels(diffraction_pattern(), np.uint16), shown=(0.0, 65535.0)),
        "particle-count/inputs/darkfield.tif": tiff(levels(particle_field(), np.uint8), PARTICLE_PIXEL),
        "particle-count/gold/particles.csv": particle_table(),
        "marked-hole/inputs/film.tif": tiff(levels(holey_film(), np.uint8), 0.5),
        "enlarged-piece/inputs/planes.tif": tiff(levels(silicon_planes(), np.uint8), PLANES_PIXEL),
        "smoothed-planes/inputs/planes.tif": tiff(levels(silicon_planes(), np.uint8), PLANES_PIXEL),
        "dusty-film/inputs/polymer.gsf": gsf(polymer_film(), POLYMER_PIXEL, "Height"),
        "flake-cut-out/inputs/flakes.gsf": gsf(flakes(), FLAKES_PIXEL, "Height"),
        "grating-calibration/inputs/grating.gsf": gsf(grating(), GRATING_WRITTEN / 200, "Height"),
        "scale-bar/inputs/planes.tif": tiff(levels(silicon_planes(), np.uint8)),
    }
