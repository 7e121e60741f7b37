"""The statistics of `dpnbench separation`, from their definitions, with explicit d x d matrices in float64.

Usage: separation_oracle.py FEATURES.npz [TEST.npz WEIGHTS.npy BIASES.npy]: prints JSON. Labels are the array y.
"""
import json
import sys

import numpy as np
import torch


def scatter(x, y, weights):
    means = np.stack([x[y == k].mean(0) for k in range(len(weights))])
    mean = weights @ means
    between = (means - mean).T @ np.diag(weights) @ (means - mean)
    within = sum(w * np.cov(x[y == k].T, bias=True) for k, w in enumerate(weights))
    return means, mean, between, np.atleast_2d(within)


def frame_distance(a):
    k = len(a)
    return np.linalg.norm(a / np.linalg.norm(a) - (np.eye(k) - 1 / k) / np.sqrt(k - 1))


def nearest(x, means):
    return ((x[:, None, :] - means[None]) ** 2).sum(2).argmin(1)


def probe(x, y, test_x, test_y, classes):
    """The loss and the test accuracy of logistic regression on standardised features, in float64."""
    n, d = x.shape
    mean, std = x.mean(0), x.std(0)
    scale = np.where(std > 0, 1 / np.where(std > 0, std, 1), 0)
    z, target = torch.from_numpy((x - mean) * scale), torch.from_numpy(y)
    w = torch.zeros(classes, d, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([w, b], max_iter=2000, tolerance_grad=1e-8, tolerance_change=1e-14,
                                  line_search_fn="strong_wolfe")

    def loss():
        optimiser.zero_grad()
        value = torch.nn.functional.cross_entropy(z @ w.T + b, target) + (w ** 2).sum() / 2 / n
        value.backward()
        return value

    optimiser.step(loss)
    scores = torch.from_numpy((test_x - mean) * scale) @ w.T + b
    return loss().item(), (scores.argmax(1).numpy() == test_y).mean()


def hsic(k, l):
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))
    return (np.trace(k @ l) + k.sum() * l.sum() / (n - 1) / (n - 2) - 2 * k.sum(0) @ l.sum(0) / (n - 2)) / n / (n - 3)


def cka(xs):
    n = len(xs[0])
    batches = -(-n // 512)
    h = np.zeros((len(xs), len(xs)))
    for b in range(batches):
        grams = [(x[b::batches] - x.mean(0)) @ (x[b::batches] - x.mean(0)).T for x in xs]
        h += np.array([[hsic(p, q) for q in grams] for p in grams])
    return h / np.sqrt(np.outer(np.diag(h), np.diag(h)))


def layer(x, y, classes):
    n, d = x.shape
    p = np.bincount(y) / n
    means, mean, between, within = scatter(x, y, p)
    rank = min(classes - 1, d)
    inverse = np.linalg.pinv(between, rcond=1e-11, hermitian=True)
    out = {"fuzziness": np.trace(within @ inverse), "fuzziness_product": np.trace(within @ between),
           "compression": np.trace(within) / np.trace(between)}
    out["nc1"] = out["fuzziness"] / classes
    m, _, between1, within1 = scatter(x, y, np.full(classes, 1 / classes))
    balanced = np.trace(within1 @ np.linalg.pinv(between1, rcond=1e-11, hermitian=True))
    out["fuzziness_balanced"] = balanced
    out["nc1_balanced"] = balanced / classes
    out["nc1_trace"] = np.trace(within1) / np.trace(between1)
    m = m - m.mean(0)
    lengths = np.linalg.norm(m, axis=1)
    cosines = (m @ m.T / np.outer(lengths, lengths))[np.tril_indices(classes, -1)]
    out["nc2_norms"] = lengths.std() / lengths.mean()
    out["nc2_angles"] = cosines.std()
    out["nc2_max_angle"] = np.abs(cosines + 1 / (classes - 1)).mean()
    out["nc2_frame"] = frame_distance(m @ m.T)
    pairs = [(a, b) for a in range(classes) for b in range(a)]
    v = [((x[y == k] - means[k]) ** 2).sum(1).mean() for k in range(classes)]
    out["class_distance_variance"] = np.mean([(v[a] + v[b]) / 2 / ((means[a] - means[b]) ** 2).sum() for a, b in pairs])
    out["mean_distance"] = np.mean([np.linalg.norm(means[a] - means[b]) for a, b in pairs])
    raw = np.linalg.norm(means, axis=1)
    out["discrimination"] = 1 - max(means[a] @ means[b] / raw[a] / raw[b] for a, b in pairs)
    total = np.atleast_2d(np.cov(x.T, bias=True))
    out["stable_rank"] = np.trace(total) / np.linalg.eigvalsh(total)[-1]
    out["nearest_mean_accuracy"] = (nearest(x, means) == y).mean()
    out["variability_collapse"] = 1 - np.trace(np.linalg.pinv(total, rcond=1e-9, hermitian=True) @ between) / rank
    return out, means


def main():
    data = dict(np.load(sys.argv[1]))
    y = data.pop("y").astype(int)
    classes = y.max() + 1
    xs = {name: x.reshape(len(x), -1).astype(float) for name, x in data.items()}
    test = dict(np.load(sys.argv[2])) if len(sys.argv) > 2 else None
    out = {"layers": []}
    for name, x in xs.items():
        one, means = layer(x, y, classes)
        if test is None:
            seen = np.array([np.sum(y[:i + 1] == k) for i, k in enumerate(y)])
            held = seen % 5 == 0
            tx, ty, px, py = x[held], y[held], x[~held], y[~held]
        else:
            tx, ty, px, py = test[name].reshape(len(test["y"]), -1).astype(float), test["y"].astype(int), x, y
            one["test"] = (nearest(tx, means) == ty).mean()
        one["probe_loss"], one["probe_accuracy"] = probe(px, py, tx, ty, classes)
        out["layers"].append(one)
    if test is not None:
        w, b = np.load(sys.argv[3]).astype(float), np.load(sys.argv[4]).astype(float)
        name = [name for name, x in xs.items() if x.shape[1] == w.shape[1] and name != "logits"][-1]
        means = np.stack([xs[name][y == k].mean(0) for k in range(classes)])
        m = means - means.mean(0)
        tx = test[name].reshape(len(test["y"]), -1).astype(float)
        read = (tx @ w.T + b).argmax(1)
        gram = w @ w.T
        lengths = np.linalg.norm(w, axis=1)
        cosines = (gram / np.outer(lengths, lengths))[np.tril_indices(classes, -1)]
        out["classifier"] = {"nc2_norms": lengths.std() / lengths.mean(), "nc2_angles": cosines.std(),
                             "nc2_max_angle": np.abs(cosines + 1 / (classes - 1)).mean(),
                             "nc2_frame": frame_distance(gram),
                             "nc3": np.linalg.norm(w / np.linalg.norm(w) - m / np.linalg.norm(m)),
                             "nc3_frame": frame_distance(w @ m.T), "nc4": (read != nearest(tx, means)).mean(),
                             "accuracy": (read == test["y"]).mean()}
    logs = np.log([one["fuzziness"] for one, name in zip(out["layers"], xs) if name != "logits"])
    index = np.arange(len(logs))
    out["rho"] = np.exp(np.polyfit(index, logs, 1)[0])
    out["r"] = np.corrcoef(index, logs)[0, 1]
    out["loads"] = list((logs[:-1] - logs[1:]) / (logs[0] - logs[-1]))
    out["cka"] = cka(list(xs.values())).tolist()
    json.dump(out, sys.stdout)


main()
