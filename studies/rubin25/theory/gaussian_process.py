"""How much of He_3 lazy networks learn: kernel ridge regression with the kernel of infinitely wide 2-layer erf networks.

d        input dimension, inputs x ~ N(0, I_d)
y        target He_3(w*.x) / sqrt(6)
v        variance of a readout times the width: 1 in standard scaling, 1/N in mean field
K        kernel, v times that of `ridge_curves.spectrum`; P training samples, kappa the ridge
A        alignment <f, y>, the sum of y's squared coefficients times L_k, the shares learnt of `ridge_curves`. The formula takes
         features to be Gaussian: kernel ridge regression on drawn sets has 3 to 9% less at d = 6 and 16, P = 400 to 3200
E        test error <(f - y)^2> [Simon21]
"""

from analysis.theory.ridge_curves import Spectrum, errors, shares, spectrum

from .large_deviation import Scaling


def lazy_alignment(P: float, N: int, d: int, kappa: float, scaling: Scaling = "standard") -> float:
    """A of a lazy network, 0 without samples. ValueError unless P >= 0, kappa > 0, N >= 1 and d >= 2."""
    of = _kernel(P, N, d, kappa, scaling)
    return float(of.powers @ shares(of, errors(of, P, kappa).kappa)) if P else 0.0


def lazy_error(P: float, N: int, d: int, kappa: float, scaling: Scaling = "standard") -> float:
    """E of a lazy network, 1 without samples. ValueError as for `lazy_alignment`."""
    of = _kernel(P, N, d, kappa, scaling)
    return errors(of, P, kappa).test if P else 1.0


def _kernel(P: float, N: int, d: int, kappa: float, scaling: Scaling) -> Spectrum:
    """K and y over its eigenfunctions."""
    if P < 0 or kappa <= 0 or N < 1 or d < 2:
        raise ValueError(f"P = {P}, N = {N}, d = {d}, kappa = {kappa}: positive, and d at least 2")
    of, v = spectrum(3, d), 1.0 if scaling == "standard" else 1 / N
    return of._replace(values=v * of.values, rest=v * of.rest)


def less_lazy(alignment: float, lazy: float) -> float:
    """The alignment that specialising neurons supply in a network of this alignment whose lazy learning alone has A = `lazy`.

    They leave (1 - m) y of the target, and lazy learning supplies A of that: alignment = m + A (1 - m), solved for m. This is
    exact for ridge regression with the sum of two kernels, K and one along y. At most 0 where a lazy network has as much.
    """
    return (alignment - lazy) / (1 - lazy)
