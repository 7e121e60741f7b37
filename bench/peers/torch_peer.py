"""DPNs in PyTorch: the published form and an expert's form."""
import sys

from serve import blas, say, seconds, serve

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as e:
    say(missing=str(e))
    sys.exit()

# Responsibilities underflow; flushing them to zero only makes PyTorch faster. Before the
# first work, so that its threads inherit it.
torch.set_flush_denormal(True)


def published(x, mu, A, c, alpha, n):
    """As published: every step differentiates the potential, P_i and all, and cuts the
    graph that it made."""
    with torch.enable_grad():
        for _ in range(n):
            x = x.detach().requires_grad_()
            P = torch.bmm(A.transpose(1, 2), A)
            D = x[:, None] - mu
            q = torch.einsum("bki,kij,bkj->bk", D, P, D)
            phi = torch.logsumexp(c - q / 2, 1)
            (g,) = torch.autograd.grad(phi.sum(), x, create_graph=True)
            x = (x + alpha * g).detach()
    return x


# The expert's variants compute the same; which is the fastest depends on sizes and threads.


def batched(x, mu, P, c, alpha, n):
    """One batched product over the k components."""
    for _ in range(n):
        D = x - mu[:, None]
        G = torch.bmm(D, P)
        r = torch.softmax(c[:, None] - (G * D).sum(2) / 2, 0)
        x = x - alpha * (r[:, :, None] * G).sum(0)
    return x


def batched_twice(x, mu, P, c, alpha, n):
    """As above, with the sum over components as a product, too."""
    for _ in range(n):
        D = x - mu[:, None]
        G = torch.bmm(D, P)
        r = torch.softmax(c[:, None] - (G * D).sum(2) / 2, 0)
        x = x - alpha * torch.bmm(r.t()[:, None], G.transpose(0, 1))[:, 0]
    return x


def linear(x, mu, P, c, alpha, n):
    """One product with all P_i side by side, minus mu_i P_i."""
    k, d = mu.shape
    flat, muP = P.reshape(k * d, d), torch.bmm(mu[:, None], P).reshape(k * d)
    for _ in range(n):
        G = F.linear(x, flat, -muP).view(-1, k, d)
        r = torch.softmax(c - (G * (x[:, None] - mu)).sum(2) / 2, 1)
        x = x - alpha * torch.bmm(r[:, None], G)[:, 0]
    return x


def one_by_one(x, mu, P, c, alpha, n):
    """One product per component, which keeps D and G in the cache."""
    for _ in range(n):
        G, q = [], []
        for m, p in zip(mu.unbind(0), P.unbind(0)):
            D = x - m
            G.append(D @ p)
            q.append((G[-1] * D).sum(1))
        r = torch.softmax(c - torch.stack(q, 1) / 2, 1)
        g = r[:, :1] * G[0]
        for i in range(1, len(G)):
            g = torch.addcmul(g, r[:, i : i + 1], G[i])
        x = x - alpha * g
    return x


WAYS = [batched, batched_twice, linear, one_by_one]


def adam(parameters):
    """Learning rate 0: the same work, and every round starts from the same parameters."""
    try:
        return torch.optim.Adam(parameters, lr=0.0, fused=True)  # PyTorch 2.4
    except (TypeError, RuntimeError):
        return torch.optim.Adam(parameters, lr=0.0)


def load(inputs, d, k, n, rows, classes):
    flat = torch.from_numpy(np.fromfile(inputs, dtype=np.float32))
    shapes = [(k, d), (k, d, d), (k,), (), (rows, d), (classes, d), (classes,), (rows,)]
    mu, A, c, alpha, x, W, b, labels = [
        part.reshape(shape).clone() for part, shape in zip(flat.split([int(np.prod(s)) for s in shapes]), shapes)
    ]
    labels = labels.long()
    parameters = [W, b, alpha, mu, A, c]
    for p in parameters:
        p.requires_grad_()
    optimiser = adam(parameters)  # it leaves out those without a gradient
    with torch.no_grad():
        P_fixed = torch.bmm(A.transpose(1, 2), A)

    def forward(way, steps):
        with torch.no_grad():
            return way(x, mu, P_fixed, c, alpha, steps)

    def gradients(x_n):
        loss = F.cross_entropy(F.linear(x_n, W, b), labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        return loss

    def expert(way, steps):
        return gradients(way(x, mu, torch.bmm(A.transpose(1, 2), A), c, alpha, steps))

    def train_published():
        gradients(published(x, mu, A, c, alpha, n))
        optimiser.step()

    def train_expert(way, steps):
        expert(way, steps)
        optimiser.step()

    # The best of three, because disturbances only make a variant slower.
    def fastest(work):
        steps = min(n, 3)
        return min(WAYS, key=lambda way: min(seconds(lambda: work(way, steps), 0) for _ in range(3)))

    way_forward, way_train = fastest(forward), fastest(train_expert)

    def arrays(*tensors):
        return [t.detach().numpy() for t in tensors]

    def gradients_published():
        x_n = published(x, mu, A, c, alpha, n)
        loss = gradients(x_n)
        return arrays(x_n, loss, W.grad, b.grad)

    def gradients_expert():
        loss = expert(way_train, n)
        return arrays(forward(way_forward, n), loss, *(p.grad for p in parameters))

    work = {
        "forward-published": lambda: arrays(published(x, mu, A, c, alpha, n)),
        "forward-expert": lambda: arrays(forward(way_forward, n)),
        "gradients-published": gradients_published,
        "gradients-expert": gradients_expert,
        "train-published": train_published,
        "train-expert": lambda: train_expert(way_train, n),
    }
    return work, {"fastest": {"forward": way_forward.__name__, "train": way_train.__name__}}


if __name__ == "__main__":
    torch.mm(torch.ones(8, 8), torch.ones(8, 8))  # loads the libraries that blas lists
    serve("PyTorch %s, %s" % (torch.__version__, blas()), load)
