"""The corruptions of MNIST-C by scikit-image, SciPy and ImageMagick, for ../mnistc_test.go.

    dpnbench data convert digits --out digits.npz
    python3 mnistc.py digits.npz    # writes mnistc.npz beside this file

Debian 12: apt-get install python3-skimage imagemagick. The images are the first built-in digits. Each
corruption is applied as Mu and Gilmer define it (arXiv:1906.02337), with draws that are arguments here.
"exact" holds the images of the cases in the order of `cases`; "mean" and "variance" those of every pixel of
the first digit over 2,000 draws of the random ones, in the order of `random`.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter, gaussian_filter1d
from skimage import feature, transform

DIGITS, DRAWS = 3, 2000
rng = np.random.default_rng(1)


def levels(x):
    """Bytes, halves rounded up."""
    return np.floor(255 * np.clip(x, 0, 1) + 0.5001).astype(np.uint8)


def about_centre(**map):
    a = transform.AffineTransform(**map).params
    return transform.AffineTransform(translation=13.5 * (1 - a[:2, :2].sum(1)), **map)


def warp(x, **map):
    return transform.warp(x, inverse_map=about_centre(**map))


def translate(x, dx, dy):
    return transform.warp(x, inverse_map=transform.AffineTransform(translation=[dx, dy]))


def stripe(x):
    x = x.copy()
    x[:, :7], x[:, 21:] = 1 - x[:, :7], 1 - x[:, 21:]
    return x


def glass_swaps(choice, offset):
    """Rows of (row, column, other row, other column)."""
    swaps = []
    for _ in range(2):
        for h in range(27, 1, -1):
            for w in range(27, 1, -1):
                if choice():
                    dx, dy = offset(), offset()
                    swaps.append((h, w, h + dy, w + dx))
    return np.array(swaps, np.uint8)


def glass(x, swaps):
    x = np.uint8(gaussian_filter1d(x, 0.7, axis=0, mode="nearest") * 255)
    for h, w, hp, wp in swaps:
        x[h, w], x[hp, wp] = x[hp, wp], x[h, w]
    return gaussian_filter1d(x / 255, 0.7, axis=0, mode="nearest")


def magick(images, angles):
    """ImageMagick's motion blur of many images."""
    with tempfile.TemporaryDirectory() as d:
        for i, x in enumerate(images):
            Image.fromarray(np.uint8(np.round(255 * x))).save("%s/%d.png" % (d, i))
        out = []
        for i, a in enumerate(angles):
            subprocess.run(["convert", "%s/%d.png" % (d, i), "-motion-blur", "10x3%+.17g" % a, "%s/out.png" % d],
                           check=True)
            out.append(np.array(Image.open("%s/out.png" % d).convert("L")) / 255)
        return out


def motion(x, angle):
    """The same for one, from its kernel: many runs of ImageMagick would take minutes."""
    i = np.arange(21)
    k = np.exp(-(i**2) / 18)
    k /= k.sum()
    dx = np.ceil(i * np.cos(np.radians(angle)) - 0.5).astype(int)
    dy = np.ceil(i * np.sin(np.radians(angle)) - 0.5).astype(int)
    rows, cols = np.mgrid[:28, :28]
    return sum(w * x[np.clip(rows + b, 0, 27), np.clip(cols + a, 0, 27)] for w, a, b in zip(k, dx, dy))


def plasma():
    """Diamond-square on a torus of 256 x 256."""
    n, m, wibble, step = 256, np.zeros((256, 256)), 100.0, 256

    def middle(total):
        return total / 4 + wibble * rng.uniform(-wibble, wibble, total.shape)

    while step >= 2:
        h = step // 2
        corner = m[::step, ::step]
        total = corner + np.roll(corner, -1, 0)
        m[h::step, h::step] = middle(total + np.roll(total, -1, 1))
        centre = m[h::step, h::step]
        m[::step, h::step] = middle(centre + np.roll(centre, 1, 0) + corner + np.roll(corner, -1, 1))
        m[h::step, ::step] = middle(centre + np.roll(centre, 1, 1) + corner + np.roll(corner, -1, 0))
        step //= 2
        wibble /= 1.4
    m -= m.min()
    return m / m.max()


def fog(x):
    return (x + 3 * plasma()[:28, :28]) * x.max() / (x.max() + 3)


def spatter(x, z):
    liquid = gaussian_filter(0.65 + 0.3 * z, 1, mode="nearest")
    m = gaussian_filter((liquid > 0.65).astype(float), 1.5, mode="nearest")
    m[m < 0.8] = 0
    return x * (1 - m) + 63 / 255 * m


def line(c0, r0, c1, r1):
    cc, rr = np.meshgrid(np.arange(28.0), np.arange(28.0))
    dist = np.clip(np.abs(rr - ((r1 - r0) / (c1 - c0) * (cc - c0) + r0)), 0, 2.3 - 1e-10)
    ink = np.clip(np.log(1 - dist / 2.3) + 1, 0, 1)
    ink[:, : int(np.floor(c0))] = 0
    ink[:, int(np.ceil(c1)) :] = 0
    return ink


def dotted(x, r0, r1):
    ink = line(0, r0, 27, r1)
    for c in range(0, 28, 4):
        ink[:, c : c + 2] = 0
    return x + ink


def zigzag(x, r0, rise):
    theta = np.arctan(rise / 23)
    d = 23 / np.cos(theta)
    ends = [(0, 0)]
    for i in range(int((d - 2) // 4) + 1):
        ends.append(((2 * i + 1) * 2, (-1) ** i * 2))
    longest = 4 * (d // 4)
    if d != longest:
        ends.append((d, ends[-1][1] / (2 * (d - longest))))
    turn = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    c, r = turn @ np.array(ends).T
    for i in range(1, len(c)):
        x = np.clip(x + line(c[i - 1] + 2, r[i - 1] + r0, c[i] + 2, r[i] + r0), 0, 1)
    return x


def impulse(x):
    u = rng.random(x.shape)
    return np.where(u < 0.085, 0, np.where(u < 0.17, 1, x))


def coin():
    return rng.choice([-1, 1])


swaps = glass_swaps(lambda: rng.random() < 0.5, lambda: rng.integers(-1, 1))
normal = rng.normal(size=(28, 28)).astype(np.float32)

# Deterministic, or with the draws that are given: one function of an image each.
cases = [
    ("brightness", lambda x: x + 0.5),
    ("stripe", stripe),
    ("scale", lambda x: warp(x, scale=(1 / 0.7, 1 / 0.7))),
    ("rotate +", lambda x: warp(x, rotation=0.4)),
    ("rotate -", lambda x: warp(x, rotation=-0.4)),
    ("shear +", lambda x: warp(x, shear=0.4)),
    ("shear -", lambda x: warp(x, shear=-0.4)),
    ("translate ++", lambda x: translate(x, 3, 3)),
    ("translate +-", lambda x: translate(x, 3, -3)),
    ("translate -+", lambda x: translate(x, -3, 3)),
    ("translate --", lambda x: translate(x, -3, -3)),
    ("canny", lambda x: feature.canny(x).astype(float)),
    ("glass", lambda x: glass(x, swaps)),
    ("motion -45", lambda x: magick([x], [-45])[0]),
    ("motion -17.3", lambda x: magick([x], [-17.3])[0]),
    ("motion 0", lambda x: magick([x], [0])[0]),
    ("motion 31.4", lambda x: magick([x], [31.4])[0]),
    ("spatter", lambda x: spatter(x, normal)),
    ("dotted 3 24", lambda x: dotted(x, 3, 24)),
    ("dotted 26 0", lambda x: dotted(x, 26, 0)),
    ("zigzag 2 4", lambda x: zigzag(x, 2, 4)),
    ("zigzag 20 -5", lambda x: zigzag(x, 20, -5)),
    ("zigzag 13 0", lambda x: zigzag(x, 13, 0)),
]

random = [
    ("shot-noise", lambda x: rng.poisson(3 * x) / 3),
    ("impulse-noise", impulse),
    ("glass-blur", lambda x: glass(x, glass_swaps(lambda: rng.random() < 0.5, lambda: rng.integers(-1, 1)))),
    ("motion-blur", lambda x: motion(x, rng.uniform(-45, 45))),
    ("shear", lambda x: warp(x, shear=0.4 * coin())),
    ("rotate", lambda x: warp(x, rotation=0.4 * coin())),
    ("translate", lambda x: translate(x, 3 * coin(), 3 * coin())),
    ("fog", fog),
    ("spatter", lambda x: spatter(x, rng.normal(size=x.shape))),
    ("dotted-line", lambda x: dotted(x, *rng.integers(0, 27, 2))),
    ("zigzag", lambda x: zigzag(x, rng.integers(0, 27), rng.integers(-5, 5))),
]


def main():
    x = np.load(sys.argv[1])["x_train"][:DIGITS] / 255
    for a in (-30, 10, 44):  # the two definitions of the motion blur are one
        assert np.abs(levels(motion(x[0], a)).astype(int) - levels(magick([x[0]], [a])[0])).max() <= 1
    exact = np.array([[levels(f(d)) for d in x] for _, f in cases])
    means, variances = [], []
    for name, f in random:
        y = np.array([levels(f(x[0])) for _ in range(DRAWS)]) / 255
        means.append(y.mean(0))
        variances.append(y.var(0))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mnistc.npz")
    np.savez_compressed(path, digits=np.uint8(255 * x + 0.5), exact=exact, swaps=swaps, normal=normal,
                        mean=np.float32(means), variance=np.float32(variances))


if __name__ == "__main__":
    main()
