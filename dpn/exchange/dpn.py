"""A Denoising Potential Network (DPN) in PyTorch, as `dpnbench export --format pytorch` writes it.

    from dpn import DPN
    model = DPN.load()      # model.safetensors beside this file
    logits = model(images)  # N x classes

Images are N x channels x rows x cols (N x rows x cols works for grey ones, too): levels in [0, 1], as
torchvision's ToTensor makes them, or whole numbers from 0 to 255 (torch.uint8). Vectors are N x features. The
model normalises them itself.

To train, call model.retract() after every step of the optimiser: it keeps alpha positive and the rows of
U orthonormal. To train a new network, make it with DPN.preset and place its centres with model.start:

    model = DPN.preset("compact", shape=(1, 28, 28), classes=10, mean=0.1307, std=0.3081)
    model.start(images)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

model.save writes a file that load and dpnbench read. Parameters have the names of the published state
dictionary. The module needs only PyTorch, 1.10 or newer.
"""
import array
import json
import os
import struct

import torch
import torch.nn.functional as F
from torch import nn

# Settings of training runs, by the names of dpnbench's flags: what most presets share, and what
# each has instead.
DEFAULTS = {}
PRESETS = {}


class DenoisingPotential(nn.Module):
    """phi(x) = log sum_i exp(c_i - (x - mu_i)^T P_i (x - mu_i) / 2), whose gradient points climb.

    The form says what P_i is; s0 is the setting scale:

        full     A_i^T A_i
        tied     A^T A, the same for all components
        diag     s0^2 diag(exp(2 l_i))
        lowrank  s0^2 (diag(exp(2 l_i)) + R_i^T R_i)
        flat     s0^2 (I - (1 - eps) U_i^T U_i), where U_i has orthonormal rows
    """

    def __init__(self, components, d, form, rank, eps, scale, alpha):
        super().__init__()
        k, r = components, rank
        self.form, self.eps, self.scale = form, eps, scale
        self.c = nn.Parameter(torch.zeros(k))
        self.mu = nn.Parameter(torch.zeros(k, d))
        self.alpha = nn.Parameter(torch.tensor(float(alpha)))
        if form == "full":
            self.A = nn.Parameter(scale * torch.eye(d).repeat(k, 1, 1))
        elif form == "tied":
            self.A = nn.Parameter(scale * torch.eye(d))
        elif form == "flat":
            self.U = nn.Parameter(torch.eye(r, d).repeat(k, 1, 1))
        elif form in ("diag", "lowrank"):
            self.l = nn.Parameter(torch.zeros(k, d))
            if form == "lowrank":
                self.R = nn.Parameter(torch.randn(k, r, d) / d**0.5)
        else:
            raise ValueError("form %r, expected full, tied, diag, lowrank or flat" % form)

    def field(self):
        """Returns a function that maps points (N x d) to l (N x k), a shift (N), and grad phi (N x d). phi is
        the shift plus the logarithm of the sum of exp(l)."""
        if self.form in ("full", "tied"):
            return self._dense_field()
        s = self.scale
        if self.form == "flat":
            return self._low_rank_field(s * s, s * (1 - self.eps) ** 0.5 * self.U, -1)
        w = s * s * torch.exp(2 * self.l)
        return self._low_rank_field(w, s * self.R if self.form == "lowrank" else None, 1)

    def _dense_field(self):
        P = self.A.transpose(-1, -2) @ self.A

        def at(x):
            D = x - self.mu[:, None]  # k x N x d
            G = D @ P
            l = self.c[:, None] - (D * G).sum(2) / 2
            return l.t(), 0, -(torch.softmax(l, 0)[:, :, None] * G).sum(0)

        return at

    def _low_rank_field(self, w, f, sign):
        """P_i = diag(w_i) + sign f_i^T f_i, without an array of N x k x d numbers. w may be one number."""
        k = len(self.mu)
        middle = self.mu.detach().mean(0)  # products of points near the origin lose fewer digits
        mu = self.mu - middle
        wmu = w * mu
        constant = self.c - (wmu * mu).sum(1) / 2
        if f is not None:
            rows = f.flatten(0, 1)
            offset = -(f @ mu[:, :, None]).flatten()

        def at(x):
            x = x - middle
            l, shift = constant + x @ wmu.t(), 0
            if isinstance(w, float):  # the same for all components: not in l, where it would cost digits
                shift = -w / 2 * (x * x).sum(1)
            else:
                l = l - (x * x) @ w.t() / 2
            if f is not None:
                z = F.linear(x, rows, offset).unflatten(1, (k, -1))
                l = l - sign / 2 * (z * z).sum(2)
            r = torch.softmax(l, 1)
            down = x * (w if isinstance(w, float) else r @ w) - r @ wmu
            if f is not None:
                down = down + sign * (r[:, :, None] * z).flatten(1) @ rows
            return l, shift, -down

        return at

    def potential(self, x):
        """phi at points (N x d)."""
        l, shift, _ = self.field()(x)
        return torch.logsumexp(l, 1) + shift

    def forward(self, x, steps):
        """Moves points (N x d) uphill: x <- x + alpha grad phi(x), so many times."""
        at = self.field()
        for _ in range(steps):
            x = x + self.alpha * at(x)[2]
        return x

    @torch.no_grad()
    def retract(self):
        """Puts parameters back where they belong after an update."""
        self.alpha.clamp_(min=1e-6)
        if self.form == "flat":
            q, r = torch.linalg.qr(self.U.transpose(1, 2))
            signs = torch.sign(torch.diagonal(r, dim1=1, dim2=2))
            self.U.copy_((q * signs[:, None]).transpose(1, 2))

    @torch.no_grad()
    def start(self, x, rounds=20):
        """Places the centres by k-means on the points x (N x d), and the rows of U on the principal components of
        each cluster."""
        k = len(self.mu)
        mu = x[torch.randperm(len(x))[:k]].clone()
        for _ in range(rounds):
            near = torch.cdist(x, mu).argmin(1)
            for i in near.unique():
                mu[i] = x[near == i].mean(0)
        self.mu.copy_(mu)
        if self.form == "flat":
            for i in near.unique():
                v = torch.linalg.svd(x[near == i] - mu[i], full_matrices=False)[2][: self.U.shape[1]]
                self.U[i, : len(v)] = v
            self.retract()


class DPN(nn.Module):
    """Images or vectors, normalised, through an extractor to features, uphill on a potential, to a linear
    classifier. shape is (channels, rows, cols) or (features,); mean and std are a number, or one for each channel
    or feature."""

    def __init__(self, settings, shape, classes, mean, std):
        super().__init__()
        s = self.settings = dict(settings)
        self.shape, self.numbers, self.metadata = tuple(shape), {}, {}
        for name, value in (("mean", mean), ("std", std)):
            value = self.numbers[name] = [float(v) for v in (value if isinstance(value, (list, tuple)) else [value])]
            value = torch.tensor(value).reshape((-1,) + (1,) * (len(self.shape) - 1))
            self.register_buffer(name, value, persistent=False)
        size = self.size = torch.Size(self.shape).numel()
        d = size if s["extractor"] == "identity" else s["dim"]
        self.feature_extractor = self._extractor(size, d)
        self.norm = nn.LayerNorm(d, elementwise_affine=False) if s["layer-norm"] else nn.Identity()
        self.denoising_potential = DenoisingPotential(
            s["components"], d, s["form"], s["rank"], float(s["eps"]), float(s["scale"]), s["alpha"]
        )
        self.classifier = nn.Linear(d, classes)

    def _extractor(self, size, d):
        kind = self.settings["extractor"]
        if kind == "identity":
            return nn.Identity()
        if kind == "linear":
            return nn.Linear(size, d)
        if kind == "mlp":
            widths = [size] + [int(w) for w in self.settings["hidden"].split("-") if w]
            layers = []
            for a, b in zip(widths, widths[1:]):
                layers += [nn.Linear(a, b), nn.ReLU()]
            return nn.Sequential(*layers, nn.Linear(widths[-1], d))
        if kind == "conv":
            channels, rows, cols = self.shape
            first, second = [int(w) for w in self.settings["hidden"].split("-") if w] or (8, 16)
            return nn.Sequential(
                nn.Conv2d(channels, first, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(first, second, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                nn.Flatten(), nn.Linear(second * (rows // 4) * (cols // 4), d),
            )
        if kind == "conv3":
            channels, rows, cols = self.shape
            return nn.Sequential(
                nn.Conv2d(channels, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                nn.Dropout(0.25), nn.Flatten(), nn.Linear(64 * ((rows - 4) // 2) * ((cols - 4) // 2), d), nn.ReLU(),
                nn.Dropout(0.5),
            )
        raise ValueError("extractor %r, expected identity, linear, mlp, conv or conv3" % kind)

    @classmethod
    def preset(cls, name, shape=(1, 28, 28), classes=10, mean=0.1307, std=0.3081):
        """A new network with the settings of a preset. mean and std are those of the training samples:
        of images, of their levels in [0, 1], not preprocessed. Its centres are 0 until start."""
        return cls({**DEFAULTS, **PRESETS[name], "preset": name}, shape, classes, mean, std)

    @classmethod
    def load(cls, path=os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.safetensors")):
        """The network in a file that dpnbench or save wrote, for evaluation: call train() before training it."""
        tensors, metadata = read(path)
        lines = (line.partition(" = ") for line in metadata["config"].splitlines() if line)
        settings = {key: json.loads(value) for key, _, value in lines}
        if "features" in metadata:
            shape = (int(metadata["features"]),)
        else:
            shape = (int(metadata.get("channels", 1)), int(metadata["rows"]), int(metadata["cols"]))
        mean, std = ([float(v) for v in metadata[name].split(",")] for name in ("mean", "std"))
        model = cls(settings, shape, len(tensors["classifier.bias"]), mean, std)
        model.load_state_dict(tensors)
        model.metadata = metadata
        return model.eval()

    def save(self, path):
        """Writes a file that load and dpnbench read."""
        config = "".join("%s = %s\n" % (k, json.dumps(v, ensure_ascii=False)) for k, v in self.settings.items())
        own = {"format": "dpnbench model 1", "config": config}
        for name, values in self.numbers.items():
            own[name] = ",".join(map(repr, values))
        if len(self.shape) == 1:
            own["features"] = str(self.shape[0])
        else:
            own["rows"], own["cols"] = str(self.shape[1]), str(self.shape[2])
            if self.shape[0] > 1:
                own["channels"] = str(self.shape[0])
        write(path, self.state_dict(), {**self.metadata, **own})

    def features(self, images):
        """Features (N x d) of images or vectors, before the ascent."""
        x = self._samples(images)
        if self.settings.get("contrast"):
            x = contrast(x)
        if self.settings.get("centre"):
            x = centred(x, self.settings["centre"])
        if self.settings.get("rms"):
            rms = x.square().mean((1, 2, 3), keepdim=True).clamp(min=1 / 32 ** 2).sqrt()
            x = x * (0.25 / rms) ** 0.25
        x = (x - self.mean) / self.std
        if not self.settings["extractor"].startswith("conv"):
            x = x.flatten(1)
        return self.norm(self.feature_extractor(x))

    def _samples(self, x):
        """N x shape, of images in levels. Of samples of another shape, reshape alone might make as many others."""
        dims, shape = tuple(x.shape), self.shape
        fit = [shape, (self.size,)] + ([shape[1:]] if shape[0] == 1 else [])
        flat = len(shape) == 1 and torch.Size(dims[1:]).numel() == self.size
        if not (dims in fit or dims[1:] in fit or flat):
            raise ValueError("samples of shape %s, expected N x %s" % (list(dims), " x ".join(map(str, shape))))
        if len(shape) == 3 and not x.is_floating_point() and x.dtype != torch.bool:
            x = x.float() / 255
        return x.reshape(-1, *shape)

    def denoised(self, images):
        """Features (N x d) of images, after the ascent. With gradient = "detached" no gradient passes it."""
        x, steps = self.features(images), self.settings["steps"]
        if self.settings["gradient"] == "detached":
            with torch.no_grad():
                return self.denoising_potential(x, steps)
        return self.denoising_potential(x, steps)

    def forward(self, images):
        """Logits (N x classes) of images."""
        return self.classifier(self.denoised(images))

    def potential(self, images):
        """phi at the features of images (N): low for images unlike the training data."""
        return self.denoising_potential.potential(self.features(images))

    def retract(self):
        """Call it after every step of the optimiser."""
        self.denoising_potential.retract()

    @torch.no_grad()
    def start(self, images, rounds=20):
        """Places the centres of a new network among the features of images, some thousands of them."""
        self.denoising_potential.start(self.features(images), rounds)


def contrast(x):
    """Images (N x channels x rows x cols) as the distance from their background, blurred and scaled to [0, 1]. The
    background is the Coons patch between medians along the border."""
    rows, cols = x.shape[2:]
    top, bottom = border(x), border(x.flip(2))
    turned = x.transpose(2, 3)
    left, right = border(turned), border(turned.flip(2))
    v = torch.arange(rows, device=x.device)[:, None] / max(rows - 1, 1)
    u = torch.arange(cols, device=x.device) / max(cols - 1, 1)

    def between(a, b, t):
        return a + t * (b - a)

    def edge(i, side):
        """N x channels x rows x 1: from corner to corner, at the left or the right."""
        upper, lower = (top[..., i] + side[..., 0]) / 2, (bottom[..., i] + side[..., -1]) / 2
        return between(upper[..., None, None], lower[..., None, None], v)

    ground = between(top[:, :, None], bottom[:, :, None], v)
    ground = ground + (between(left[..., None], right[..., None], u) - between(edge(0, left), edge(-1, right), u))
    d = blurred((x - ground).abs())
    k = rows * cols // 32
    full = d.flatten(2).topk(k + 1, 2)[0][..., k].clamp(min=1 / 32)
    return ((d / full[..., None, None] - 0.25).clamp(min=0) / 0.75).clamp(max=1)


def border(x):
    """Medians along the upper side of images, N x channels x cols: at each place of 11 neighbours."""
    cols = x.shape[3]
    n, apart = min(11, cols), max(1, cols // 28)
    first = torch.arange(cols).sub(5 * apart).clamp(0, max(cols - 1 - (n - 1) * apart, 0))
    at = (first[:, None] + apart * torch.arange(n)).flatten().to(x.device)
    window = x[:, :, 0, at].reshape(x.shape[0], x.shape[1], cols, n).sort(3)[0]
    return (window[..., (n - 1) // 2] + window[..., n // 2]) / 2


def blurred(x):
    """Images blurred by two boxes, zero outside."""
    wide = [n // 9 | 1 for n in x.shape[2:]]
    for _ in range(2):
        x = F.avg_pool2d(x, wide, 1, [n // 2 for n in wide])
    return x


def centred(x, kind):
    """Images (N x channels x rows x cols) with their centre of mass in the middle, for the kind "moments" without
    slant and of one size."""
    n, _, rows, cols = x.shape
    mass = blurred(x.sum(1, keepdim=True))
    w = (mass / mass.amax((2, 3), keepdim=True).clamp(min=1e-30) - 0.2).clamp(min=0)[:, 0]
    total = w.sum((1, 2)).clamp(min=1e-30)

    def mean(v):
        return ((w * v).sum((1, 2)) / total)[:, None, None]

    r = torch.arange(rows, dtype=x.dtype, device=x.device)[:, None]
    c = torch.arange(cols, dtype=x.dtype, device=x.device)
    row, col = mean(r), mean(c)
    size, slant = 1, 0
    if kind == "moments":
        rr, cc, rc = mean((r - row) ** 2), mean((c - col) ** 2), mean((r - row) * (c - col))
        slant = (rc / (rr + 1)).clamp(-1, 1)
        cc = cc + slant * (slant * rr - 2 * rc)
        size = ((rr + cc).sqrt() / (0.2 * (rows + cols) / 2)).clamp(1 / 1.6, 1.6)
    down = size * (r - (rows - 1) / 2)
    col = col + size * (c - (cols - 1) / 2) + slant * down
    row = (row + down).expand(n, rows, cols)
    return F.grid_sample(x, torch.stack(((2 * col + 1) / cols - 1, (2 * row + 1) / rows - 1), 3), align_corners=False)


def read(path):
    """Tensors and metadata of a safetensors file with numbers of float32."""
    with open(path, "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, t in header.items():
        if t["dtype"] != "F32":
            raise ValueError("%s: tensor %r has type %s, expected F32" % (path, name, t["dtype"]))
        lo, hi = t["data_offsets"]
        tensors[name] = torch.frombuffer(bytearray(data[lo:hi]), dtype=torch.float32).reshape(t["shape"])
    return tensors, metadata


def write(path, tensors, metadata):
    """Writes a safetensors file."""
    header, data, at = {"__metadata__": {k: v for k, v in metadata.items() if k != "dpnbench.sha256"}}, [], 0
    for name, t in sorted(tensors.items()):
        data.append(array.array("f", t.detach().flatten().tolist()).tobytes())
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(data[-1])]}
        at += len(data[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))
    os.replace(path + ".part", path)
