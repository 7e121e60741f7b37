"""EM by scikit-learn: a number of iterations from given initial values."""
import sys
import warnings

from serve import blas, say, serve

try:
    import numpy as np
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture
except ImportError as e:
    say(missing=str(e))
    sys.exit()

warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations is fixed


def load(inputs, d, k, iterations, rows):
    flat = np.fromfile(inputs, dtype=np.float32)
    ridge, s0 = map(float, flat[:2])
    mu, x = np.split(flat[2:], [k * d])
    mu, x = mu.reshape(k, d), x.reshape(rows, d)

    def fit(dtype):
        """init_params "random" avoids a k-means whose result the given values would replace."""
        m = GaussianMixture(
            k, covariance_type="full", tol=0, reg_covar=ridge, max_iter=iterations, init_params="random", random_state=0,
            weights_init=np.full(k, 1 / k, dtype), means_init=mu.astype(dtype),
            precisions_init=np.repeat(s0**2 * np.eye(d, dtype=dtype)[None], k, 0),
        )
        z = x.astype(dtype)
        return lambda: m.fit(z)

    def score(dtype):
        """Log-likelihood of the final mixture, in float64."""
        m = fit(dtype)()
        for name in "weights_", "means_", "precisions_cholesky_":
            setattr(m, name, getattr(m, name).astype(np.float64))
        return [np.array(m.score(x.astype(np.float64)))]

    work = {}
    for dtype in np.float32, np.float64:
        name = np.dtype(dtype).name
        work[name] = fit(dtype)
        work["score-" + name] = lambda dtype=dtype: score(dtype)
    return work, {}


serve("scikit-learn %s, %s" % (sklearn.__version__, blas()), load)
