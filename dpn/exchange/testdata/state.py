"""Writes the files of this folder that end in .pth: state dictionaries of the published reference, in small, and
logits.bin, what its code computes from the images in images.bin. state.py FOLDER."""
import collections
import os
import sys

import torch
from torch import nn

torch.manual_seed(1)


class DenoisingPotential(nn.Module):
    """The published code: the gradient by automatic differentiation, each step detached."""

    def __init__(self, d, k, n):
        super().__init__()
        self.c = nn.Parameter(0.1 * torch.randn(k))
        self.mu = nn.Parameter(torch.randn(k, d))
        self.A = nn.Parameter(torch.eye(d).repeat(k, 1, 1) + 0.1 * torch.randn(k, d, d))
        self.alpha = nn.Parameter(torch.tensor(0.1))
        self.n = n

    def potential(self, x):
        diff = x[:, None] - self.mu
        transformed = torch.einsum("kij,bkj->bki", self.A, diff)
        return torch.logsumexp(self.c - (transformed**2).sum(2) / 2, 1)

    def forward(self, x):
        for _ in range(self.n):
            x = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(self.potential(x).sum(), x)
            x = (x + self.alpha * gradient).detach()
        return x


class FullArchitecture(nn.Module):
    def __init__(self, d, k, n, classes):
        super().__init__()
        self.denoising_potential = DenoisingPotential(d, k, n)
        self.classifier = nn.Linear(d, classes)

    def forward(self, x):
        return self.classifier(self.denoising_potential(x))


class Command:
    """What a malicious file would have run."""

    def __reduce__(self):
        return os.system, ("echo executed > executed",)


model = FullArchitecture(16, 3, 5, 4)
images = torch.randint(0, 256, (20, 16), dtype=torch.uint8)
logits = model((images.float() / 255 - 0.1307) / 0.3081)
os.chdir(sys.argv[1])
with open("images.bin", "wb") as f:
    f.write(bytes(images.flatten().tolist()))
with open("logits.bin", "wb") as f:
    f.write(logits.detach().numpy().astype("<f4").tobytes())

state = model.state_dict()
torch.save(state, "state.pth")
torch.save(state, "protocol4.pth", pickle_protocol=4)
torch.save(state, "legacy.pth", _use_new_zipfile_serialization=False)
torch.save({"epoch": 3, "optimizer": {"state": {0: {"step": torch.tensor(5), "rates": [1e-3, None, True]}}},
            "model": collections.OrderedDict(("module." + k, v) for k, v in state.items())}, "checkpoint.pth")
for name, kind in ("half", torch.float16), ("bfloat16", torch.bfloat16), ("double", torch.float64):
    torch.save({k: v.to(kind) for k, v in state.items()}, name + ".pth")
# Views of one storage, transposed, a parameter, and numbers of integers.
whole = torch.cat([v.flatten() for v in state.values()])
parts = whole.split([v.numel() for v in state.values()])
views = {k: p.reshape(v.shape) for (k, v), p in zip(state.items(), parts)}
views["denoising_potential.mu"] = nn.Parameter(state["denoising_potential.mu"].t().contiguous().t())
views["denoising_potential.c"] = torch.tensor([1, -2, 3])
torch.save(views, "views.pth")
torch.save(model, "module.pth")
torch.save({"denoising_potential.mu": Command()}, "malicious.pth")
torch.save({"denoising_potential.mu": Command()}, "malicious-protocol4.pth", pickle_protocol=4)
torch.save({"denoising_potential.mu": Command()}, "malicious-legacy.pth", _use_new_zipfile_serialization=False)
