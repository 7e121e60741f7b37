"""The protocol between a Python peer and the Go program: commands on standard input, a line of
JSON for each on standard output. load sizes..., run WORK, time WORK LEAST_SECONDS."""
import json
import os
import signal
import sys
import time

LONG = 0.3  # seconds from which a single call without warm-up is enough, as in rounds.go


def say(**reply):
    print(json.dumps(reply), flush=True)


def blas():
    """The loaded BLAS libraries, if the system lists them."""
    try:
        with open("/proc/self/maps") as maps:
            files = {os.path.realpath(line.split()[-1]) for line in maps if "/" in line}
    except OSError:
        return "BLAS unknown"
    names = ("libblas", "libcblas", "libopenblas", "libscipy_openblas", "libmkl", "libblis")
    return ", ".join(sorted(f for f in files if os.path.basename(f).startswith(names))) or "BLAS built in"


def seconds(f, least):
    """The time of one call of f, averaged over a batch, as in rounds.go."""
    n = 0
    while True:
        start = time.perf_counter()
        for _ in range(max(n, 1)):
            f()
        took = time.perf_counter() - start
        if took >= least and (n > 0 or took >= LONG):
            return took / max(n, 1)
        n = max(2 * n, 1)


def serve(about, load):
    """Answers until standard input ends. load(inputs, sizes) returns the work by name,
    functions that return arrays, and what else to tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the Go program ends us
    directory, work = sys.argv[1], {}
    say(about=about)
    for line in sys.stdin:
        command, *words = line.split()
        try:
            if command == "load":
                work.clear()
                found, more = load(os.path.join(directory, "inputs"), *map(int, words))
                work.update(found)
                say(**more)
            elif command == "run":
                file = os.path.join(directory, "results-%d" % os.getpid())
                with open(file, "wb") as f:
                    for array in work[words[0]]():
                        f.write(array.astype("float32").tobytes())
                say(file=file)
            elif command == "time":
                say(seconds=seconds(work[words[0]], float(words[1])))
        except Exception as e:
            say(error="%s: %s" % (type(e).__name__, e))
