"""Runs exported modules: module.py TASKS, a file of JSON with a list of tasks. Prints a list of results."""
import importlib.util
import json
import os
import sys

try:
    import torch
except ImportError as e:
    print(json.dumps({"missing": str(e)}))
    sys.exit()
if len(sys.argv) < 2:
    print(json.dumps({"version": torch.__version__}))
    sys.exit()

torch.set_num_threads(1)


def module(folder):
    spec = importlib.util.spec_from_file_location("dpn", os.path.join(folder, "dpn.py"))
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def array_of(path, *shape, dtype=torch.uint8):
    with open(path, "rb") as f:
        return torch.frombuffer(bytearray(f.read()), dtype=dtype).reshape(shape)


def losses(model, images, labels, updates):
    """The loss before each of some updates."""
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    found = []
    for _ in range(updates):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        found.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        model.retract()
    return found


def logits(dpn, model, images, path):
    """Writes float32. Half of the images come as bytes, grey ones without a channel, half as levels."""
    with open(path, "wb") as f, torch.no_grad():
        for i, x in enumerate(images.split(100)):
            if x.dtype == torch.uint8:
                x = (x[:, 0] if x.shape[1] == 1 else x) if i % 2 else x.float() / 255
            y = model(x)
            dpn.array.array("f", y.flatten().tolist()).tofile(f)


def inputs(model, x):
    """What becomes of samples in other types and shapes: "same" logits, "other" ones, or the error."""
    images = len(model.shape) == 3
    x = x.abs().to(torch.uint8)
    usual = model(x.float() / 255 if images else x.float())
    cases = {"bytes": x, "long": x.long(), "flat": x.flatten(1)}
    if images:
        cases.update({"channels last": x.permute(0, 2, 3, 1), "channels": torch.cat([x, x, x], 1)})
    else:
        cases.update({"square": x.reshape(-1, 6, 6), "half": x.reshape(-1, 18)})
    found = {}
    for name, case in cases.items():
        try:
            found[name] = "same" if torch.equal(model(case), usual) else "other"
        except ValueError as e:
            found[name] = str(e)
    return found


def run(task):
    folder = task["folder"]
    path = lambda name: os.path.join(folder, name)
    torch.manual_seed(1)
    dpn = module(folder)
    if task["do"] == "presets":
        images, labels = array_of(path("images"), -1, 1, 12, 12), array_of(path("labels"), -1).long()
        found = {}
        for name in dpn.PRESETS:
            model = dpn.DPN.preset(name, shape=(1, 12, 12))
            model.start(images)
            found[name] = losses(model, images[:32], labels[:32], 4)
            if name == "robust":
                model.save(path("robust.safetensors"))
        return {"presets": found}
    model = dpn.DPN.load()
    images = array_of(path("images"), -1, *model.shape, dtype=torch.uint8 if len(model.shape) > 1 else torch.float32)
    found = {}
    if task["do"] == "inputs":
        return {"inputs": inputs(model, images[:6])}
    if task["do"] == "train":
        found["losses"] = losses(model, images, array_of(path("labels"), -1).long(), 8)
        model.save(path("trained.safetensors"))
    logits(dpn, model, images, path("logits"))
    found["potential"] = model.potential(images[:10]).tolist()
    return found


with open(sys.argv[1]) as f:
    print(json.dumps([run(task) for task in json.load(f)]))
