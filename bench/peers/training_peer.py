"""Training steps of the presets in PyTorch, in the form of an expert: analytic ascent steps
without arrays of batch x k x d numbers where precisions are of low rank, autograd through
all of them, clipping, Adam, and rows of U that are made orthonormal again."""
import json
import os
import struct
import sys

from serve import blas, say, seconds, serve

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as e:
    say(missing=str(e))
    sys.exit()

from torch_peer import WAYS, adam


def read(path):
    """The tensors of a safetensors file, by name."""
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    tensors = {}
    for name in sorted(header):
        if name != "__metadata__":
            lo, hi = header[name]["data_offsets"]
            values = np.frombuffer(data[lo:hi], dtype="<f4").astype(np.float32)
            tensors[name] = torch.from_numpy(values).reshape(header[name]["shape"])
    return tensors


# Extractors: images to 64 features.


def linear(x, p):
    return F.linear(x, p["feature_extractor.weight"], p["feature_extractor.bias"])


def convolutions(x, p):
    x = x.view(-1, 1, 28, 28)
    for layer in "0", "3":
        w, b = p["feature_extractor.%s.weight" % layer], p["feature_extractor.%s.bias" % layer]
        x = F.max_pool2d(F.relu_(F.conv2d(x, w, b, padding=2)), 2)
    return F.linear(x.flatten(1), p["feature_extractor.7.weight"], p["feature_extractor.7.bias"])


def relu_last(x, p):
    """Pooling commutes with ReLU, which then has a quarter of the elements."""
    x = x.view(-1, 1, 28, 28)
    for layer in "0", "3":
        w, b = p["feature_extractor.%s.weight" % layer], p["feature_extractor.%s.bias" % layer]
        x = F.relu_(F.max_pool2d(F.conv2d(x, w, b, padding=2), 2))
    return F.linear(x.flatten(1), p["feature_extractor.7.weight"], p["feature_extractor.7.bias"])


def channels_last(x, p):
    x = x.view(-1, 1, 28, 28).contiguous(memory_format=torch.channels_last)
    for layer in "0", "3":
        w, b = p["feature_extractor.%s.weight" % layer], p["feature_extractor.%s.bias" % layer]
        w = w.contiguous(memory_format=torch.channels_last)
        x = F.relu_(F.max_pool2d(F.conv2d(x, w, b, padding=2), 2))
    return F.linear(x.contiguous().flatten(1), p["feature_extractor.7.weight"], p["feature_extractor.7.bias"])


# Ascents with P_i = diag(w_i) + sign F_i^T F_i. w is k x d, or a number for w I.


def constants(mu, w):
    wmu = w * mu
    return wmu, (wmu * mu).sum(1)


def diagonal(x, w, wmu, wmumu):
    """sum_j w_ij (x_j - mu_ij)^2 without an array of batch x k x d."""
    square = w * (x * x).sum(1, keepdim=True) if isinstance(w, float) else (x * x) @ w.t()
    return torch.addmm(square + wmumu, x, wmu.t(), alpha=-2)


def separate(x, mu, w, f, sign, c, alpha, n):
    """One product per term."""
    k, r, d = f.shape
    flat = f.reshape(k * r, d)
    offset = torch.bmm(f, mu[:, :, None]).view(k * r)
    wmu, wmumu = constants(mu, w)
    for _ in range(n):
        z = F.linear(x, flat, -offset).view(-1, k, r)
        q = diagonal(x, w, wmu, wmumu) + sign * (z * z).sum(2)
        resp = torch.softmax(c - q / 2, 1)
        weight = w if isinstance(w, float) else resp @ w
        back = (resp[:, :, None] * z).view(-1, k * r) @ flat
        x = x - alpha * (x * weight - resp @ wmu + sign * back)
    return x


def stacked(x, mu, w, f, sign, c, alpha, n):
    """One product with all F_i and w_i mu_i there, and one back."""
    k, r, d = f.shape
    flat = f.reshape(k * r, d)
    offset = torch.bmm(f, mu[:, :, None]).view(k * r)
    wmu, wmumu = constants(mu, w)
    there, back = torch.cat([flat, wmu]), torch.cat([sign * flat, -wmu])
    shift = torch.cat([-offset, torch.zeros(k)])
    for _ in range(n):
        y = F.linear(x, there, shift)
        z = y[:, : k * r].view(-1, k, r)
        square = w * (x * x).sum(1, keepdim=True) if isinstance(w, float) else (x * x) @ w.t()
        q = square + wmumu - 2 * y[:, k * r :] + sign * (z * z).sum(2)
        resp = torch.softmax(c - q / 2, 1)
        weight = w if isinstance(w, float) else resp @ w
        left = torch.cat([(resp[:, :, None] * z).view(-1, k * r), resp], 1)
        x = x - alpha * (x * weight + left @ back)
    return x


# Retractions: orthonormal rows by the method of Gram and Schmidt, in order.


def by_cholesky(u):
    lower = torch.linalg.cholesky(torch.bmm(u, u.transpose(1, 2)))
    return torch.linalg.solve_triangular(lower, u, upper=False)


def by_qr(u):
    q, r = torch.linalg.qr(u.transpose(1, 2))
    return (q * torch.sign(torch.diagonal(r, dim1=1, dim2=2))[:, None]).transpose(1, 2)


def load(inputs, n, rows, classes):
    p = read(os.path.join(os.path.dirname(inputs), "model.safetensors"))
    flat = torch.from_numpy(np.fromfile(inputs, dtype=np.float32))
    s0, eps = map(float, flat[:2])
    x, labels = flat[2:].split([len(flat) - 2 - rows, rows])
    x, labels = x.reshape(rows, -1).clone(), labels.long()
    potential = "denoising_potential."
    p[potential + "alpha"] = torch.log(torch.expm1(p[potential + "alpha"].double())).float()
    for t in p.values():
        t.requires_grad_()
    parameters = list(p.values())
    optimiser = adam(parameters)
    mu, c, raw = p[potential + "mu"], p[potential + "c"], p[potential + "alpha"]
    u = p.get(potential + "U")

    def full(way):
        A = p[potential + "A"]
        return lambda f: way(f, mu, torch.bmm(A.transpose(1, 2), A), c, F.softplus(raw), n)

    def low(way):
        def ascend(f):
            if u is not None:
                return way(f, mu, s0 * s0, s0 * (1 - eps) ** 0.5 * u, -1, c, F.softplus(raw), n)
            w = s0 * s0 * torch.exp(2 * p[potential + "l"])
            return way(f, mu, w, s0 * p[potential + "R"], 1, c, F.softplus(raw), n)

        return ascend

    ascents = {w.__name__: full(w) for w in WAYS} if potential + "A" in p else {w.__name__: low(w) for w in (separate, stacked)}
    extractors = {"": lambda x, p: x}
    kinds = ()
    if "feature_extractor.weight" in p:
        kinds = (linear,)
    elif "feature_extractor.0.weight" in p:
        kinds = (convolutions, relu_last, channels_last)
    if kinds:
        norm = lambda f: lambda x, p: F.layer_norm(f(x, p), (mu.shape[1],))
        extractors = {f.__name__ + ", ": norm(f) for f in kinds}
    ways = {a + b: (extractors[a], ascents[b]) for a in extractors for b in ascents}

    def logits(way):
        extract, ascend = ways[way]
        return F.linear(ascend(extract(x, p)), p["classifier.weight"], p["classifier.bias"])

    def forward(way):
        with torch.no_grad():
            return logits(way)

    def gradients(way):
        loss = F.cross_entropy(logits(way), labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        return loss

    def train(way, retract):
        gradients(way)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        if retract:
            with torch.no_grad():
                u.copy_(retract(u))

    def fastest(options, work):
        """The best of three, because disturbances only make a variant slower."""
        return min(options, key=lambda way: min(seconds(lambda: work(way), 0) for _ in range(3)))

    retract = None
    with torch.no_grad():
        if u is not None:
            retract = fastest([by_cholesky, by_qr], lambda f: f(u))
    way_forward, way_train = fastest(ways, forward), fastest(ways, lambda way: train(way, None))

    def arrays(*tensors):
        return [t.detach().contiguous().numpy() for t in tensors]

    def compared():
        out = forward(way_forward)
        loss = gradients(way_train)
        more = [retract(u)] if retract else []
        return arrays(out, loss, *(p[name].grad for name in sorted(p)), *more)

    work = {
        "forward": lambda: arrays(forward(way_forward)),
        "gradients": compared,
        "train": lambda: train(way_train, retract),
    }
    name = way_train + (", " + retract.__name__ if retract else "")
    return work, {"fastest": {"forward": way_forward, "train": name}}


torch.mm(torch.ones(8, 8), torch.ones(8, 8))  # loads the libraries that blas lists
serve("PyTorch %s, %s" % (torch.__version__, blas()), load)
