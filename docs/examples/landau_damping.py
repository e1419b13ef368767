"""Landau damping: a one-dimensional electrostatic particle-in-cell program that runs on NumPy or CuPy.

Electrons of a Maxwellian plasma, before a resting background of ions, start with the density 1 + amplitude cos(k x).
The electric field oscillates and is damped although nothing collides (Landau 1946). The program follows
the electrons, measures how fast the field decays, and prints the result beside the one of linear theory. That theory is
for small amplitudes: sqrt(amplitude), the frequency at which electrons bounce in the wave, is to be below the damping
rate.

    uv run docs/examples/landau_damping.py
    uv run docs/examples/landau_damping.py --backend cupy --markers 100_000_000
    uv run docs/examples/landau_damping.py --wave-number 0.4 --steps 400 --plot landau.png
    uv run mpiexec -n 4 python docs/examples/landau_damping.py

Its two loops over all markers are kernels, each in a folder of ``landau_kernels`` with a version for the GPU beside
those for the CPU; ``landau_kernels/__init__.py`` says how a program is ported so. Everything else is array operations,
on NumPy and CuPy alike.

Under ``mpiexec`` each rank has its share of the markers, and a GPU of its own; all have the whole grid, and add up
their densities in each step. What a marker starts with follows from its number alone, so that the plasma is the same on
any number of ranks. That needs mpi4py; a run of one process doesn't.

Units: time in inverse plasma frequencies, length in Debye lengths, velocity in thermal velocities; but positions of
markers are fractions of the box, and in the time loop their velocities are fractions of the box per step, because that
saves passes over the markers. The exit status is 0 after a measurement, 1 if the field allowed none, and 2 for bad
options.

The method (leapfrog, linear weighting, a field solver by Fourier transform, a quiet start) is described in
C. K. Birdsall and A. B. Langdon, Plasma Physics via Computer Simulation, McGraw-Hill 1985.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import curve_fit
from scipy.special import wofz

import cunumpy as xp
from cunumpy.errors import BackendUnavailableError

#: A kernel of each folder. On the CPU it runs what Pyccel compiles, where Pyccel is installed, else the NumPy version.
KERNELS = xp.kernels.KernelCatalog.from_package(
    "landau_kernels",
    compile_host=xp.kernels.PyccelCache("landau-damping"),
    outputs="annotations",
    dispatch="arrays",
)


@dataclass(frozen=True)
class Setup:
    """What is simulated: a periodic box of one wavelength.

    The defaults are those of the command line.
    """

    markers: int = 1_000_000
    steps: int = 300
    cells: int = 128
    dt: float = 0.1
    wave_number: float = 0.5
    amplitude: float = 0.01
    loading: str = "quiet"
    seed: int = 1
    sort_every: int = 100

    @property
    def length(self) -> float:
        """Length of the box, one wavelength."""
        return 2 * math.pi / self.wave_number


@dataclass(frozen=True)
class History:
    """What a run leaves behind, as NumPy arrays with one entry a step."""

    times: np.ndarray  # float64
    energy: np.ndarray  # float64, energy of the electric field
    sine: np.ndarray  # float64, amplitude of sin(k x) in the field: the wave that was started
    cosine: np.ndarray  # float64, amplitude of cos(k x) in the field: noise alone, because the start is even in x
    seconds: float  # time that the loop took
    transfers: int  # copies between host and device in the loop


@dataclass(frozen=True)
class Fit:
    """A damped wave, fitted to the sine amplitude of the field between two times."""

    omega: complex  # frequency + i growth rate
    error: complex  # their standard errors, likewise
    start: float
    stop: float
    maxima: int  # maxima of the field energy in the window


class NoFitError(Exception):
    """The field can't be fitted by a damped wave; the text says why."""


# ------------------------------------------------------------------------------------------------ the plasma


def load_markers(setup: Setup, rank: int = 0, ranks: int = 1) -> tuple[xp.Array, xp.Array]:
    """Positions and velocities of a rank's share of the markers, each float64 of shape (n,), on the active backend.

    ``quiet`` takes both from a two-dimensional sequence of low discrepancy: regular in one direction, multiples of the
    golden ratio in the other (a Kronecker sequence; H. Niederreiter, Random Number Generation and Quasi-Monte Carlo
    Methods, SIAM 1992, chapter 3). ``random`` draws them, in pairs of one velocity, half a wavelength apart. In
    a pair the noise of the wave itself cancels; single markers would need many times as many for the same accuracy. The
    numbers belong to the pair, by its number, and to the seed: so they are the same on both backends, and on any number
    of ranks.
    """
    first, stop = (part * setup.markers // ranks for part in (rank, rank + 1))
    numbers = xp.arange(first, stop)
    if setup.loading == "random":
        pairs = xp.arange(first // 2, (stop + 1) // 2)  # marker 2 n and marker 2 n + 1 are pair n
        own = slice(first % 2, first % 2 + stop - first)
        place = (numbers % 2 + xp.repeat(xp.rng.philox_uniform(setup.seed, pairs, 0), 2)[own]) / 2
        velocities = xp.repeat(xp.rng.philox_normal(setup.seed, pairs, 1), 2)[own]
    else:
        place = (numbers + 0.5) / setup.markers
        golden_ratio = (math.sqrt(5) - 1) / 2
        velocities = xp.scipy.special.ndtri((numbers + 0.5) * golden_ratio % 1.0)

    # A uniform place becomes a position with density 1 + amplitude cos(k x): invert the integral of the density
    # by Newton's method.
    amplitude = setup.amplitude
    phase = 2 * math.pi * place
    target = phase.copy()
    for _ in range(6):
        phase -= (phase + amplitude * xp.sin(phase) - target) / (1 + amplitude * xp.cos(phase))
    positions = phase / (2 * math.pi)
    positions -= xp.floor(positions)  # the upper end may be met by rounding
    return positions, velocities


def deposit(positions: xp.Array, cells: int, markers: int | None = None, comm: Any = None) -> xp.Array:
    """Density on the grid points, with mean 1, by linear weighting.

    With a communicator, ``markers`` is their number on all its ranks, and the density is that of all.
    """
    density = xp.get_array_module(positions).zeros(cells)
    KERNELS["deposit"](positions, density)
    if comm is not None and comm.size > 1:
        xp.mpi.allreduce(comm, density, out=density)
    density *= cells / (positions.size if markers is None else markers)
    return density


def solve_poisson(charge: xp.Array, length: float) -> tuple[xp.Array, xp.Array]:
    """The electric field of a charge density on the grid, dE/dx = charge, and its Fourier coefficients."""
    cells = charge.size
    wave_numbers = 2 * math.pi / length * xp.arange(cells // 2 + 1)
    wave_numbers[0] = 1
    coefficients = xp.fft.rfft(charge) / (1j * cells * wave_numbers)
    coefficients[0] = 0  # no mean field
    return xp.fft.irfft(cells * coefficients, cells), coefficients


def sort_by_cell(positions: xp.Array, velocities: xp.Array, cells: int) -> tuple[xp.Array, xp.Array]:
    """Positions and velocities in the order of the cells, so that neighbours in memory meet the same grid points."""
    cell = (positions * cells).astype(xp.int32)
    xp.minimum(cell, cells - 1, out=cell)
    _, _, positions, velocities = xp.algorithms.sort_by_cell(cell, cells, positions, velocities, check=False)
    return positions, velocities


def simulate(setup: Setup, progress: Iterable[int] | None = None, comm: Any = None) -> History:
    """Run the plasma from its start; ``progress`` gives the numbers of the steps and may show them.

    With a communicator its ranks share the markers; all get the whole history.
    """
    rank, ranks = (0, 1) if comm is None else (comm.rank, comm.size)
    positions, velocities = load_markers(setup, rank, ranks)
    energy = xp.zeros(setup.steps)
    wave = xp.zeros(setup.steps, dtype=xp.complex128)
    cell_length = setup.length / setup.cells
    velocities *= setup.dt / setup.length

    xp.synchronize()
    started = time.perf_counter()
    with xp.profiling.count_transfers() as counter:
        for step in range(setup.steps) if progress is None else progress:
            if setup.sort_every and step % setup.sort_every == setup.sort_every - 1:
                positions, velocities = sort_by_cell(positions, velocities, setup.cells)
            charge = 1 - deposit(positions, setup.cells, setup.markers, comm)
            field, coefficients = solve_poisson(charge, setup.length)
            energy[step] = cell_length / 2 * xp.sum(field * field)
            wave[step] = coefficients[1]

            # Leapfrog: the velocities are half a step behind the positions, from the first kick on.
            time_since = setup.dt if step else setup.dt / 2
            KERNELS["push"](positions, velocities, -time_since * setup.dt / setup.length * field)
    xp.synchronize()
    seconds = time.perf_counter() - started

    wave_on_host = xp.to_numpy(wave)
    return History(
        times=setup.dt * np.arange(setup.steps),
        energy=xp.to_numpy(energy),
        sine=-2 * wave_on_host.imag,
        cosine=2 * wave_on_host.real,
        seconds=seconds,
        transfers=counter.total,
    )


# ------------------------------------------------------------------------------- linear theory and the measurement


def plasma_dispersion(zeta: complex) -> complex:
    """Plasma dispersion function Z of B. D. Fried and S. D. Conte, The Plasma Dispersion Function, 1961."""
    return 1j * math.sqrt(math.pi) * complex(wofz(zeta))


def linear_theory(wave_number: float) -> tuple[complex, complex]:
    """The least damped wave of a Maxwellian plasma, by L. D. Landau, J. Phys. USSR 10, 25 (1946).

    Returns
    -------
    omega : complex
        Frequency plus i times growth rate, the root of 1 + (1 + zeta Z(zeta)) / k^2 with zeta = omega / (sqrt(2) k).
    residue : complex
        After the first few oscillations the field is
        ``-amplitude / k * sin(k x) * real(residue * exp(-1j * omega * t))``.
    """
    k = wave_number
    omega = 1 + k - 0.9j * k**2  # near enough to the root, and to no other one, for k between 0.1 and 2
    for _ in range(50):
        zeta = omega / (math.sqrt(2) * k)
        z = plasma_dispersion(zeta)
        dielectric = 1 + (1 + zeta * z) / k**2
        derivative = (z - 2 * zeta * (1 + zeta * z)) / (math.sqrt(2) * k**3)  # Z' = -2 (1 + zeta Z)
        step = dielectric / derivative
        omega -= step
        if abs(step) < 1e-13 * abs(omega):
            break
    return omega, -math.sqrt(2) / k * z / derivative


def fit_damping(history: History, wave_number: float) -> Fit:
    """Fit a damped wave to the field, in a window that is found from the field itself.

    The window begins at t = 2 / k, when the other, faster damped waves are gone. It ends at the last maximum of the
    field energy that is lower than the one before and stands out from the noise, of which the
    cosine amplitude is a sample.
    """
    times, sine = history.times, history.sine
    first = int(np.searchsorted(times, 2 / wave_number))
    height = np.abs(sine)
    reach = max(1, round(0.5 / times[1])) if len(times) > 1 else 1  # noise makes no second maximum beside a maximum
    maxima = [
        i for i in range(max(first, 1), len(times) - 1) if height[i] == height[max(i - reach, 0) : i + reach + 1].max()
    ]
    noise = math.sqrt(np.mean(history.cosine[first:] ** 2)) if maxima else 0.0
    usable = (height[maxima] > 3 * noise) & (np.diff(height[maxima], prepend=np.inf) < 0)
    count = len(usable) if usable.all() else int(np.argmin(usable))
    if count < 3:
        found = f"3 falling maxima of the field after t = {2 / wave_number:.1f} are needed, "
        if count == len(usable):
            raise NoFitError(found + f"the run has {count}; use more steps")
        raise NoFitError(found + f"{count} stand out from the noise; use more markers")

    window = slice(first, maxima[count - 1] + 1)
    t, y = times[window] - times[first], sine[window]
    frequency = math.pi * (count - 1) / (times[maxima[count - 1]] - times[maxima[0]])
    rate = math.log(height[maxima[count - 1]] / height[maxima[0]]) / (times[maxima[count - 1]] - times[maxima[0]])

    def damped_wave(t: np.ndarray, omega: float, gamma: float, a: float, b: float) -> np.ndarray:
        return np.exp(gamma * t) * (a * np.cos(omega * t) + b * np.sin(omega * t))

    try:
        with np.errstate(over="ignore"):
            parameters, covariance = curve_fit(damped_wave, t, y, p0=(frequency, rate, y[0], 0.0))
    except RuntimeError:
        raise NoFitError("the field is no damped wave; use a smaller amplitude or more markers") from None
    # Neighbouring residuals are alike: half an oscillation gives about one independent value.
    variance = np.diag(covariance) * max(1.0, math.pi / frequency / (times[1] - times[0]))
    fit = Fit(
        omega=complex(parameters[0], parameters[1]),
        error=complex(math.sqrt(variance[0]), math.sqrt(variance[1])),
        start=float(times[first]),
        stop=float(times[maxima[count - 1]]),
        maxima=count,
    )
    if not fit.error.imag < abs(fit.omega.imag) / 2:
        raise NoFitError(
            f"the damping rate {fit.omega.imag:.5f} is known only to {fit.error.imag:.5f}; use more markers or steps"
        )
    return fit


# ------------------------------------------------------------------------------------------------ the program


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def whole_number(least: int, power: int = 32) -> Callable[[str], int]:
    """A parser of whole numbers from ``least`` to ``2**power``; 1_000_000 and 1e6 are both good."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = _whole(text)
        if not least <= value <= 2**power:
            raise argparse.ArgumentTypeError(f"{text} is out of range, expected {least} to 2**{power}")
        return value

    return parse


def _whole(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(number)


def number_between(least: float, most: float) -> Callable[[str], float]:
    """A parser of numbers from ``least`` to ``most``."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not least <= value <= most:  # false for NaN
            raise argparse.ArgumentTypeError(f"{text} is out of range, expected {least:g} to {most:g}")
        return value

    return parse


def plot_path(text: str) -> Path:
    """A path that a picture can be written to, tried before the run."""
    if importlib.util.find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError("needs matplotlib, which is not installed: uv add matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    path = Path(text)
    known = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix[1:].lower() not in known:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in a picture format: {', '.join(known)}")
    try:
        existed = path.exists()
        with path.open("ab"):
            pass
        if not existed:
            path.unlink(missing_ok=True)  # other ranks try it, too
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r} can't be written: {error.strerror}") from None
    return path


def host_implementations() -> list[str]:
    """The names of what the kernels have for the CPU, the fastest first."""
    return [name for name in KERNELS["push"].implementations if name != "cuda"]


def choose_kernels(name: str) -> None:
    """Let the kernels run on the CPU as ``--kernels`` says; LookupError, with the reason, where that can't be."""
    xp.kernels.set_host_kernel_implementation(None if name == "auto" else name)
    if name != "auto":
        for kernel in KERNELS.values():
            kernel.host_kernel.kernel.get(name)


def parse_options(arguments: Sequence[str] | None = None) -> tuple[Setup, Path | None]:
    """Read and check the options, and select the backend; leave with one line and status 2 if one is bad."""
    default = Setup()
    parser = Parser(
        prog="landau_damping.py",
        description="Landau damping by a particle-in-cell simulation, measured beside linear theory.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--backend", choices=("numpy", "cupy"), default=xp.get_backend(), help="library that computes")
    add("--markers", type=whole_number(1), default=default.markers, help="number of simulated electrons")
    add("--steps", type=whole_number(1), default=default.steps, help="number of time steps")
    add("--dt", type=number_between(1e-3, 0.5), default=default.dt, help="time step, in 1 / plasma frequency")
    add("--cells", type=whole_number(8, 30), default=default.cells, help="cells of the grid")
    add(
        "--wave-number",
        type=number_between(0.1, 2),
        default=default.wave_number,
        help="of the wave, in 1 / Debye length",
    )
    add("--amplitude", type=number_between(1e-6, 0.5), default=default.amplitude, help="of the density at the start")
    add("--loading", choices=("quiet", "random"), default=default.loading, help="how the markers are placed")
    add("--seed", type=whole_number(0), default=default.seed, help="of the random loading")
    add("--sort-every", type=whole_number(0), default=default.sort_every, help="steps between sorts by cell; 0: never")
    add(
        "--kernels",
        choices=("auto", *host_implementations()),
        default="auto",
        help="how the kernels run on the CPU; auto: the first of these that can",
    )
    add("--plot", type=plot_path, metavar="FILE", help="write a plot of the field energy")
    options = vars(parser.parse_args(arguments))
    plot, backend, kernels = options.pop("plot"), options.pop("backend"), options.pop("kernels")
    setup = Setup(**options)
    if setup.markers < setup.cells:
        parser.error(f"argument --markers: {setup.markers} is less than the number of cells, {setup.cells}")
    try:
        xp.set_backend(backend, strict=True)
    except BackendUnavailableError as error:
        parser.error(f"argument --backend: {' '.join(str(error).split())}")
    try:
        choose_kernels(kernels)
    except LookupError as error:
        parser.error(f"argument --kernels: {' '.join(str(error).split())}")
    return setup, plot


def show_progress(steps: int) -> Iterable[int]:
    """The numbers of the steps, with a progress bar where stderr is a terminal and tqdm is installed."""
    if importlib.util.find_spec("tqdm") is None:
        return range(steps)
    from tqdm import tqdm

    bar: Iterable[int] = tqdm(range(steps), desc="time steps", leave=False, disable=None)
    return bar


def report(setup: Setup, history: History, fit: Fit | str, theory: complex, ranks: int = 1) -> str:
    """The result as a small table."""
    lines = [
        f"Landau damping, k = {setup.wave_number:g}, amplitude {setup.amplitude:g}, {setup.loading} loading",
        f"{setup.markers:,} markers, {setup.cells} cells, {setup.steps} steps of {setup.dt:g},"
        f" backend {xp.get_backend()}, kernels by {KERNELS['push'].selected(device=xp.get_backend() == 'cupy')}"
        + (f", {ranks} ranks" if ranks > 1 else ""),
        "",
        f"{'':14}{'measured':>20}{'linear theory':>16}{'difference':>13}",
    ]
    for name, part in (("frequency", "real"), ("damping rate", "imag")):
        expected = getattr(theory, part)
        if isinstance(fit, Fit):
            value, error = getattr(fit.omega, part), getattr(fit.error, part)
            difference = 100 * (value / expected - 1)
            lines.append(f"{name:14}{value:9.4f} +/- {error:.4f}{expected:16.4f}{difference:11.2f} %")
        else:
            lines.append(f"{name:14}{'none':>20}{expected:16.4f}")
    if isinstance(fit, Fit):
        window = f"t = {fit.start:.1f} to {fit.stop:.1f}, {fit.maxima} maxima of the field energy"
    else:
        window = f"no fit: {fit}"
    per_step = history.seconds / setup.markers / setup.steps * 1e9
    lines += [
        "",
        f"{'fit window':14}{window}",
        f"{'time':14}{per_step:.3g} ns per marker and step, {history.seconds:.3g} s in all",
        f"{'transfers':14}{history.transfers} in the time loop",
    ]
    return "\n".join(lines)


def write_plot(path: Path, setup: Setup, history: History, fit: Fit | str, theory: complex, residue: complex) -> None:
    """Plot the field energy on a logarithmic scale, with the envelope of linear theory and the fit window."""
    from matplotlib.figure import Figure

    amplitude = setup.amplitude / setup.wave_number * abs(residue)
    envelope = setup.length / 4 * amplitude**2 * np.exp(2 * theory.imag * history.times)
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    wave_energy = setup.length / 4 * history.sine**2
    axes.semilogy(history.times, history.energy, color="tab:blue", linewidth=1.5, label="field energy")
    axes.semilogy(history.times, wave_energy, color="tab:orange", linewidth=0.8, label="its part in the fitted wave")
    axes.semilogy(
        history.times,
        envelope,
        color="tab:red",
        linestyle="--",
        linewidth=1.5,
        label=rf"linear theory, $\propto e^{{2\gamma t}}$ with $\gamma = {theory.imag:.4f}$",
    )
    if isinstance(fit, Fit):
        label = rf"fit window: $\gamma = {fit.omega.imag:.4f}$, $\omega = {fit.omega.real:.4f}$"
        axes.axvspan(fit.start, fit.stop, color="0.92", label=label)
    axes.set_xlabel(r"time $\omega_p t$")
    axes.set_ylabel("field energy")
    axes.set_title(
        rf"Landau damping, $k\lambda_D = {setup.wave_number:g}$, {setup.markers:,} markers, {setup.loading} loading",
        fontsize="medium",
    )
    axes.set_xlim(0, history.times[-1] or setup.dt)
    lowest = max(min(history.energy.min(), envelope[-1]), 1e-3 * history.energy.min())
    axes.set_ylim(0.3 * lowest, 30 * history.energy.max())  # room for the legend; the minima of the wave are cut off
    axes.legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=150)


def ranks_of_run() -> Any:
    """The communicator of all ranks; of a run of one process it is a stand-in, without mpi4py."""
    xp.cuda.bind_local_device()  # before MPI starts, which then takes the same one
    comm = xp.mpi.get_mpi().COMM_WORLD
    if comm.size > 1 and xp.get_backend() == "cupy":
        xp.mpi.mpi_is_cuda_aware(comm, method="auto")
    return comm


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with command-line arguments; the exit status."""
    setup, plot = parse_options(arguments)
    comm = ranks_of_run()
    theory, residue = linear_theory(setup.wave_number)
    try:
        # So that CuPy's compilation is not in the measured time:
        simulate(replace(setup, markers=setup.cells * comm.size, steps=1, sort_every=1), None, comm)
        history = simulate(setup, show_progress(setup.steps) if comm.rank == 0 else None, comm)
    except MemoryError:
        print(f"landau_damping.py: error: not enough memory for {setup.markers:,} markers", file=sys.stderr, flush=True)
        if comm.size > 1:
            comm.Abort(1)  # the other ranks wait for this one
        return 1
    fit: Fit | str
    try:
        fit = fit_damping(history, setup.wave_number)
    except NoFitError as error:
        fit = str(error)
    if comm.rank == 0:
        print(report(setup, history, fit, theory, comm.size))
        if plot is not None:
            try:
                write_plot(plot, setup, history, fit, theory, residue)
            except OSError as error:
                print(f"landau_damping.py: error: argument --plot: {error}", file=sys.stderr)
                return 1
    return 0 if isinstance(fit, Fit) else 1


if __name__ == "__main__":
    sys.exit(main())
