"""docs/examples/landau_damping.py: the physics of its parts, the measurement, and the command line."""

import importlib.util
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import landau_damping as landau
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import cunumpy as xp

PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "landau_damping.py"


def linear_field(wave_number, times):
    """Sine amplitude of the field per density amplitude, from the linearised Vlasov equation without any poles.

    The charge density follows rho(t) = -exp(-k^2 t^2 / 2) - integral of (t - s) exp(-k^2 (t - s)^2 / 2) rho(s) ds:
    free streaming of the start and of what each field did since. Solved step by step with the trapezoidal rule.
    """
    dt = times[1]
    kernel = times * np.exp(-((wave_number * times) ** 2) / 2)
    charge = -np.exp(-((wave_number * times) ** 2) / 2)
    for n in range(1, len(times)):
        earlier = charge[:n] * kernel[n:0:-1]
        charge[n] -= dt * (earlier.sum() - earlier[0] / 2)
    return charge / wave_number


# ------------------------------------------------------------------------------------------------ linear theory


@pytest.mark.parametrize("zeta", [0.3 + 1j, 2 + 0.5j, -1.2 + 2j])
def test_plasma_dispersion_function_is_its_integral(zeta):
    def integrand(s):
        return math.exp(-(s**2)) / (s - zeta) / math.sqrt(math.pi)

    expected, _ = integrate.quad(integrand, -10, 10, complex_func=True)
    assert landau.plasma_dispersion(zeta) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("wave_number", "frequency", "rate"),
    # The values that the literature on Vlasov solvers compares with, cut or rounded to four decimals.
    [(0.2, 1.0640, -5.51e-5), (0.3, 1.1598, -0.0126), (0.4, 1.2850, -0.0661), (0.5, 1.4156, -0.1533)],
)
def test_root_is_the_published_one(wave_number, frequency, rate):
    omega, _ = landau.linear_theory(wave_number)
    assert omega.real == pytest.approx(frequency, abs=1.1e-4)
    assert omega.imag == pytest.approx(rate, abs=1.1e-4 if rate < -1e-3 else 1e-7)


@pytest.mark.parametrize("wave_number", [0.3, 0.5, 0.7, 1.0])
def test_wave_of_linear_theory_is_what_an_initial_value_problem_ends_with(wave_number):
    times = 0.01 * np.arange(1500)
    omega, residue = landau.linear_theory(wave_number)
    wave = -(residue * np.exp(-1j * omega * times)).real / wave_number
    late = times > 3.5 / wave_number
    size = abs(residue) / wave_number * np.exp(omega.imag * times[late])
    assert np.abs(linear_field(wave_number, times) - wave)[late] == pytest.approx(0, abs=0.02 * size.max())


@pytest.mark.parametrize("wave_number", np.linspace(0.1, 2, 39))
def test_root_is_one_curve_over_all_wave_numbers_that_are_accepted(wave_number):
    omega, _ = landau.linear_theory(wave_number)
    zeta = omega / (math.sqrt(2) * wave_number)
    assert abs(1 + (1 + zeta * landau.plasma_dispersion(zeta)) / wave_number**2) < 1e-9
    assert omega.real == pytest.approx(math.sqrt(1 + 3 * wave_number**2), rel=0.15)
    assert omega.imag < 1e-9
    if wave_number > 0.15:
        following, _ = landau.linear_theory(wave_number + 1e-3)
        assert 0 < (omega - following).imag < 3e-3


# ------------------------------------------------------------------------------------------------ the parts


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=30), st.integers(8, 40))
def test_deposited_charge_is_that_of_the_markers(positions, cells):
    density = landau.deposit(np.array(positions), cells)
    assert density.shape == (cells,)
    assert (density >= 0).all()
    assert density.mean() == pytest.approx(1)
    # The centre of charge, on the circle of grid points to the second order of a cell.
    dipole = np.mean(density * np.exp(2j * np.pi * np.arange(cells) / cells))
    exact = np.mean(np.exp(2j * np.pi * np.array(positions)))
    assert abs(dipole - exact) <= (2 * np.pi / cells) ** 2 / 8 + 1e-12


@pytest.mark.parametrize("cells", [32, 33])
def test_field_is_the_integral_of_the_charge(cells):
    length = 5.0
    x = length / cells * np.arange(cells)
    k = 2 * np.pi / length
    field, coefficients = landau.solve_poisson(0.3 + np.cos(k * x) + 2 * np.sin(3 * k * x + 0.4), length)
    np.testing.assert_allclose(field, np.sin(k * x) / k - 2 * np.cos(3 * k * x + 0.4) / (3 * k), atol=1e-13)
    np.testing.assert_allclose(coefficients[1], -0.5j / k, atol=1e-13)


def test_leapfrog_conserves_momentum_and_energy():
    setup = landau.Setup(markers=20_000, amplitude=0.2, cells=64, dt=0.05)
    positions, velocities = landau.load_markers(setup)
    weight = setup.length / setup.markers
    step_length = setup.length / setup.dt
    momentum = velocities.sum()
    velocities /= step_length
    fields, kinetic = [], []
    for step in range(100):
        field, _ = landau.solve_poisson(1 - landau.deposit(positions, setup.cells), setup.length)
        kick = -setup.dt / step_length * field
        if step:  # velocities at the time of the positions
            now = velocities.copy()
            landau.KERNELS["push"](positions.copy(), now, kick / 2)
            kinetic.append(weight / 2 * np.sum((now * step_length) ** 2))
            fields.append(setup.length / setup.cells / 2 * np.sum(field**2))
        landau.KERNELS["push"](positions, velocities, kick if step else kick / 2)
    assert velocities.sum() * step_length == pytest.approx(momentum, abs=1e-9 * setup.markers)
    assert max(fields) - min(fields) > 0.4  # energy that went to and fro
    assert np.ptp(np.add(fields, kinetic)) < 0.01


@pytest.mark.parametrize("loading", ["quiet", "random"])
@pytest.mark.parametrize("amplitude", [0.01, 0.5])
def test_loading_is_a_maxwellian_with_the_density_asked_for(loading, amplitude):
    setup = landau.Setup(markers=100_003, amplitude=amplitude, loading=loading, wave_number=0.4)
    positions, velocities = landau.load_markers(setup)
    assert positions.shape == velocities.shape == (100_003,)
    assert positions.dtype == velocities.dtype == np.float64
    assert positions.min() >= 0
    assert positions.max() <= 1

    def fraction_below(x):
        return x + amplitude / (2 * np.pi) * np.sin(2 * np.pi * x)

    tolerance = 1e-4 if loading == "quiet" else 0.012
    assert stats.kstest(positions, fraction_below).statistic < tolerance
    assert stats.kstest(velocities, "norm").statistic < tolerance
    assert abs(np.corrcoef(positions, velocities)[0, 1]) < tolerance


def test_random_loading_has_no_noise_in_the_wave_itself():
    setup = landau.Setup(markers=4000, amplitude=1e-6, loading="random")
    positions, _ = landau.load_markers(setup)
    assert abs(np.mean(np.exp(2j * np.pi * positions))) == pytest.approx(0.5e-6, rel=0.05)
    assert abs(np.mean(np.exp(8j * np.pi * positions))) > 1e-3  # of single markers: 1 / sqrt(4000) = 0.016


def test_seed_decides_the_random_loading():
    setup = landau.Setup(markers=100, cells=8, loading="random", seed=5)
    first, again, other = (landau.load_markers(s) for s in (setup, setup, replace(setup, seed=6)))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("ranks", [2, 3, 64])
@pytest.mark.parametrize("loading", ["quiet", "random"])
def test_markers_are_the_same_whatever_the_number_of_ranks(loading, ranks):
    setup = landau.Setup(markers=1003, loading=loading)
    positions, velocities = landau.load_markers(setup)
    parts = [landau.load_markers(setup, rank, ranks) for rank in range(ranks)]
    assert {len(x) for x, _ in parts} <= {1003 // ranks, 1003 // ranks + 1}
    np.testing.assert_allclose(np.concatenate([x for x, _ in parts]), positions, rtol=1e-13)
    np.testing.assert_array_equal(np.concatenate([v for _, v in parts]), velocities)


# ------------------------------------------------------------------------------------------------ the measurement


def history_of(times, sine, cosine=None):
    cosine = np.zeros_like(sine) if cosine is None else cosine
    return landau.History(times, sine**2, sine, cosine, seconds=1.0, transfers=0)


TIMES = 0.1 * np.arange(300)


def test_fit_recovers_a_wave_under_noise():
    rng = np.random.default_rng(0)
    wave = np.exp(-0.1 * TIMES) * np.cos(1.3 * TIMES + 0.7)
    fit = landau.fit_damping(history_of(TIMES, wave + rng.normal(0, 1e-3, 300), rng.normal(0, 1e-3, 300)), 0.45)
    assert fit.omega == pytest.approx(1.3 - 0.1j, abs=1e-3)
    assert 0 < fit.error.imag < 3e-3
    assert fit.start == pytest.approx(2 / 0.45, abs=0.1)
    assert fit.stop > 25


def test_fit_leaves_out_the_field_after_it_rises_again():
    wave = np.exp(-0.1 * TIMES) * np.cos(1.3 * TIMES) + np.where(TIMES > 18, 2 * np.sin(1.3 * (TIMES - 18)), 0)
    fit = landau.fit_damping(history_of(TIMES, wave), 0.5)
    assert 12 < fit.stop < 18
    assert fit.omega == pytest.approx(1.3 - 0.1j, abs=1e-6)


@pytest.mark.parametrize(
    ("sine", "cosine", "message"),
    [
        (np.exp(-0.1 * TIMES[:70]) * np.cos(1.3 * TIMES[:70]), None, r"t = 4\.0 are needed, the run has 1; use more s"),
        (np.ones(1), None, "the run has 0; use more steps"),
        (np.exp(-0.1 * TIMES) * np.cos(1.3 * TIMES), np.full(300, 0.5), "0 stand out from the noise; use more markers"),
        (np.exp(0.1 * TIMES) * np.cos(1.3 * TIMES), None, "1 stand out from the noise"),
        (
            np.exp(-1e-3 * TIMES) * (np.cos(1.3 * TIMES) + 0.05 * np.exp(-0.02 * TIMES) * np.cos(3.9 * TIMES)),
            None,
            "is known only to",
        ),
    ],
    ids=["short", "one step", "noise", "growing", "two waves"],
)
def test_fit_says_why_it_is_not_possible(sine, cosine, message):
    with pytest.raises(landau.NoFitError, match=message):
        landau.fit_damping(history_of(TIMES[: len(sine)], sine, cosine), 0.5)


@pytest.mark.parametrize("wave_number", [0.4, 0.5])
def test_field_of_the_plasma_is_that_of_the_linear_vlasov_equation(wave_number):
    setup = landau.Setup(markers=100_000, steps=150, wave_number=wave_number)
    history = landau.simulate(setup)
    expected = setup.amplitude * linear_field(wave_number, history.times)
    largest = setup.amplitude / wave_number
    assert np.abs(history.sine - expected).max() < 0.02 * largest
    assert np.abs(history.cosine).max() < 0.02 * largest
    wave = setup.length / 4 * history.sine**2
    assert history.energy == pytest.approx(wave, abs=0.02 * wave.max())


@pytest.mark.parametrize(
    ("loading", "markers", "rate_error", "frequency_error"),
    [("quiet", 200_000, 0.03, 0.01), ("random", 400_000, 0.1, 0.05)],
)
def test_damping_rate_and_frequency_are_those_of_linear_theory(loading, markers, rate_error, frequency_error):
    setup = landau.Setup(markers=markers, steps=220, loading=loading)
    omega, _ = landau.linear_theory(setup.wave_number)
    fit = landau.fit_damping(landau.simulate(setup), setup.wave_number)
    assert fit.omega.imag == pytest.approx(omega.imag, rel=rate_error)
    assert fit.omega.real == pytest.approx(omega.real, rel=frequency_error)
    assert abs(fit.omega.imag - omega.imag) < 5 * fit.error.imag


def test_sorting_changes_the_order_of_the_markers_and_nothing_else():
    setup = landau.Setup(markers=20_000, steps=60, loading="random", cells=32)
    never, often = (landau.simulate(replace(setup, sort_every=every)) for every in (0, 7))
    np.testing.assert_allclose(often.sine, never.sine, atol=1e-9 * np.abs(never.sine).max())
    np.testing.assert_allclose(often.energy, never.energy, rtol=1e-7)


# ------------------------------------------------------------------------------------------------ the program


def run_program(*options, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUNUMPY_")}
    return subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), *options],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def without_time(output):
    return re.sub(r"(?m)^time .*$|backend .*$", "", output)


OPTIONS = ("--markers", "60_000", "--steps", "160", "--cells", "64")


def test_program_prints_its_result():
    plain = run_program(*OPTIONS, "--kernels", "numpy")
    assert plain.returncode == 0, plain.stderr
    assert plain.stderr == ""
    assert "60,000 markers, 64 cells, 160 steps of 0.1, backend numpy, kernels by numpy" in plain.stdout
    rows = dict(re.findall(r"(?m)^(frequency|damping rate) +(.*)$", plain.stdout))
    measured, theory = (float(rows["damping rate"].split()[i]) for i in (0, 3))
    assert theory == -0.1534
    assert measured == pytest.approx(theory, rel=0.1)
    assert float(rows["frequency"].split()[3]) == 1.4157
    assert re.search(r"(?m)^fit window +t = 4\.0 to 1\d\.\d, \d maxima", plain.stdout)
    assert re.search(r"(?m)^time +[\d.]+ ns per marker and step", plain.stdout)


def test_program_prints_the_same_on_the_cupy_stand_in(tmp_path):
    builds = {"CUNUMPY_EMULATION_CACHE": str(tmp_path)}
    plain = run_program(*OPTIONS, "--kernels", "numpy")
    stand_in = run_program(*OPTIONS, "--backend", "cupy", CUNUMPY_FAKE_CUPY="1", **builds)
    assert stand_in.returncode == 0, stand_in.stderr
    assert "backend cupy" in stand_in.stdout
    assert "transfers     0 in the time loop" in stand_in.stdout
    assert without_time(stand_in.stdout) == without_time(plain.stdout)


def test_backend_that_can_not_be_used_ends_in_one_line():
    # No device is visible, so that this holds with CuPy installed, too.
    result = run_program("--backend", "cupy", CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("landau_damping.py: error: argument --backend: ")
    assert result.stderr.count("\n") == 1
    assert "CuPy" in result.stderr


@pytest.fixture
def no_run(monkeypatch):
    def refuse(*_args):
        raise AssertionError("the run was started")

    monkeypatch.setattr(landau, "simulate", refuse)


def refused(capsys, *options):
    with pytest.raises(SystemExit) as exit_:
        landau.main(list(options))
    output = capsys.readouterr()
    assert exit_.value.code == 2
    assert output.out == ""
    assert output.err.startswith("landau_damping.py: error: ")
    assert output.err.count("\n") == 1
    return output.err


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--backend", "jax", "invalid choice: 'jax'"),
        ("--markers", "-5", "-5 is out of range, expected 1 to 2**32"),
        ("--markers", "0", "0 is out of range"),
        ("--markers", "127", "127 is less than the number of cells, 128"),
        ("--markers", "many", "'many' is not a whole number"),
        ("--markers", "1000.5", "'1000.5' is not a whole number"),
        ("--markers", "1e300", "1e300 is out of range"),
        ("--markers", "inf", "'inf' is not a whole number"),
        ("--steps", "0", "0 is out of range"),
        ("--steps", "-1", "-1 is out of range"),
        ("--steps", "nan", "'nan' is not a whole number"),
        ("--cells", "4", "4 is out of range, expected 8 to 2**30"),
        ("--seed", "-1", "-1 is out of range, expected 0 to 2**32"),
        ("--sort-every", "-1", "-1 is out of range, expected 0 to 2**32"),
        ("--dt", "0", "0 is out of range, expected 0.001 to 0.5"),
        ("--dt", "nan", "nan is out of range"),
        ("--wave-number", "0", "0 is out of range, expected 0.1 to 2"),
        ("--wave-number", "inf", "inf is out of range"),
        ("--wave-number", "long", "'long' is not a number"),
        ("--amplitude", "0", "0 is out of range, expected 1e-06 to 0.5"),
        ("--amplitude", "-0.01", "-0.01 is out of range"),
        ("--amplitude", "nan", "nan is out of range"),
        ("--loading", "noisy", "invalid choice: 'noisy'"),
        ("--kernels", "fast", "invalid choice: 'fast'"),
        ("--kernels", "cuda", "invalid choice: 'cuda'"),
    ],
)
def test_bad_value_ends_in_one_line_before_the_run(capsys, option, value, reason):
    message = refused(capsys, option, value)
    assert f"argument {option}: " in message
    assert reason in message


@pytest.mark.usefixtures("no_run")
def test_kernels_that_can_not_be_loaded_end_in_one_line_before_the_run(capsys, monkeypatch):
    def fail(kernel, name):
        raise LookupError(f"{name!r} could not be loaded:\nno compiler")

    monkeypatch.setattr(xp.kernels.HostImplementations, "get", fail)
    with xp.kernels.use_host_kernel_implementation(None):
        assert "argument --kernels: 'pyccel' could not be loaded: no compiler" in refused(capsys, "--kernels", "pyccel")


@pytest.mark.usefixtures("no_run")
def test_unknown_option_ends_in_one_line(capsys):
    assert "--marker" in refused(capsys, "--marker", "1000")


@pytest.mark.usefixtures("no_run")
def test_plot_that_can_not_be_written_ends_in_one_line_before_the_run(capsys, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    for name in ("missing/a.png", "file/a.png", "folder.png"):
        message = refused(capsys, "--plot", str(tmp_path / name))
        assert "argument --plot: " in message
        assert "can't be written: " in message
    for name in ("a.xyz", "a", ""):
        assert "does not end in a picture format: " in refused(capsys, "--plot", name)


@pytest.mark.usefixtures("no_run")
def test_plot_without_matplotlib_ends_in_one_line_before_the_run(capsys, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "uv add matplotlib" in refused(capsys, "--plot", "a.png")


@pytest.mark.usefixtures("no_run")
def test_trying_the_plot_file_changes_nothing(capsys, tmp_path):
    old, new = tmp_path / "old.png", tmp_path / "new.png"
    old.write_bytes(b"a picture")
    for path in (old, new):
        refused(capsys, "--plot", str(path), "--steps", "0")
    assert old.read_bytes() == b"a picture"
    assert not new.exists()


SMALL = ("--markers", "50e3", "--steps", "120", "--cells", "64")


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_plot_shows_energy_and_theory(capsys, tmp_path, name):
    assert landau.main([*SMALL, "--plot", str(tmp_path / name)]) == 0
    assert "damping rate" in capsys.readouterr().out
    content = (tmp_path / name).read_bytes()
    assert content.startswith(b"\x89PNG" if name == "a.png" else b"<?xml")
    assert len(content) > 10_000


def test_envelope_in_the_plot_touches_the_maxima(monkeypatch, tmp_path):
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_args, **_kwargs: drawn.extend(figure.axes[0].lines))
    assert landau.main([*SMALL, "--plot", str(tmp_path / "a.png")]) == 0
    energy, _, envelope = (line.get_ydata() for line in drawn)
    inner = slice(20, 70)  # two maxima, before the noise
    assert np.max(energy[inner] / envelope[inner]) == pytest.approx(1, abs=0.1)


def test_disk_that_is_full_after_the_run_ends_in_one_line(capsys, monkeypatch, tmp_path):
    from matplotlib.figure import Figure

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    assert landau.main([*SMALL, "--plot", str(tmp_path / "a.png")]) == 1
    output = capsys.readouterr()
    assert "damping rate" in output.out
    assert output.err.startswith("landau_damping.py: error: argument --plot: ")
    assert output.err.count("\n") == 1


def test_memory_that_does_not_suffice_ends_in_one_line(capsys, monkeypatch):
    def fail(*_args):
        raise MemoryError

    monkeypatch.setattr(landau, "load_markers", fail)
    assert landau.main(["--markers", "2_000_000"]) == 1
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "landau_damping.py: error: not enough memory for 2,000,000 markers\n")


def test_run_without_a_measurement_says_so(capsys, tmp_path):
    assert landau.main(["--markers", "1000", "--steps", "1", "--plot", str(tmp_path / "a.png")]) == 1
    output = capsys.readouterr().out
    assert "none" in output
    assert "no fit: 3 falling maxima of the field after t = 4.0 are needed, the run has 0; use more steps" in output
    assert (tmp_path / "a.png").stat().st_size > 10_000


class Terminal:
    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_bar_is_shown_on_a_terminal_only(monkeypatch, capsys):
    assert list(landau.show_progress(3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(landau.show_progress(3)) == [0, 1, 2]
    assert "time steps" in sys.stderr.text


def test_progress_works_without_tqdm(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert list(landau.show_progress(3)) == [0, 1, 2]
