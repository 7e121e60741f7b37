"""The potential as scikit-learn computes it: the scores of a GaussianMixture."""
import sys

from serve import blas, say, serve

try:
    import numpy as np
    import sklearn
    from sklearn.mixture import GaussianMixture
except ImportError as e:
    say(missing=str(e))
    sys.exit()


def load(inputs, d, k, n, rows, classes):
    flat = np.fromfile(inputs, dtype=np.float32)
    mu, A, _, _, x = np.split(flat, np.cumsum([k * d, k * d * d, k, 1, rows * d]))[:5]
    mu, A, x = mu.reshape(k, d), A.reshape(k, d, d).astype(np.float64), x.reshape(rows, d)
    L = np.linalg.cholesky(A.transpose(0, 2, 1) @ A)  # P_i = L_i L_i^T

    def scorer(dtype):
        """score_samples computes in the type of the mixture and of x, but its last sums
        over components in float64."""
        m = GaussianMixture(k, covariance_type="full")
        m.weights_ = np.full(k, 1 / k, dtype)
        m.means_ = mu.astype(dtype)
        m.precisions_cholesky_ = L.astype(dtype)
        z = x.astype(dtype)
        return lambda: [m.score_samples(z)]

    log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(1)
    c = -np.log(k) + log_det - d / 2 * np.log(2 * np.pi)
    return {"c": lambda: [c], "float32": scorer(np.float32), "float64": scorer(np.float64)}, {}


serve("scikit-learn %s, %s" % (sklearn.__version__, blas()), load)
