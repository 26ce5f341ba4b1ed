"""What the scripts in Python beside this file share: which libraries there are, how their programs run, and how a
table is saved for bench/results.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def find_build(program):
    """The build directory, which has bench/program."""
    for d in [os.environ.get("DATUM_BUILD"), ".", "build", os.path.join(HERE, "../build")]:
        path = os.path.join(d or "/", "bench", program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(d)
    sys.exit("run: no build found: run 'make' first, or set DATUM_BUILD")


class Library:
    """How its programs are started; program() is the path of one of them."""

    def __init__(self, name, launcher, program, env=None):
        self.name, self.launcher, self.program, self.env = name, launcher, program, env or {}

    def run(self, n, program, args, limit):
        """Lines of the program as words; why it did not end well, or None."""
        command = [w.replace("N", str(n)) if w == "N" else w for w in self.launcher] + [self.program(program)] + args
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                 text=True, env=dict(os.environ, **self.env))
        try:
            out, err = child.communicate(timeout=limit)
            why = None if child.returncode == 0 else f"status {child.returncode}: {first_words(err)}"
        except subprocess.TimeoutExpired:
            child.terminate()
            try:
                out, err = child.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                out, err = child.communicate()
            why = f"was cut off after {limit:g} s"
        return [line.split() for line in out.splitlines()], why


def first_words(text):
    return next((line.strip() for line in text.splitlines() if line.strip(" -=")), "nothing was said")


def libraries(build, provider, tmp, sources):
    """Those that are installed; sources are those of the programs, which the build has as bench/NAME.

    Where the provider is one for networks, the peers send through sockets, too."""
    is_local = provider == "datum-shm"
    found = [Library("datum", [f"{build}/bin/mpiexec", "-n", "N"], lambda p: f"{build}/bench/{p}",
                     {"DATUM_PROVIDER": provider})]
    sys_lib = f"/usr/lib/{os.uname().machine}-linux-gnu/libmpich.so.12"
    if os.path.exists(sys_lib) and shutil.which("mpiexec.hydra"):
        # MPICH's own library instead of ours, for the very same executable
        os.mkdir(f"{tmp}/mpich")
        for name in ("libmpi.so.12", "libmpich.so.12"):
            os.symlink(sys_lib, f"{tmp}/mpich/{name}")
        found.append(Library("mpich", ["mpiexec.hydra", "-n", "N"], lambda p: f"{build}/bench/{p}",
                             {"LD_LIBRARY_PATH": f"{tmp}/mpich"} |
                             ({} if is_local else {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"})))
    else:
        print("MPICH is left out: install mpich and libmpich12 to compare with it")
    if shutil.which("mpirun.openmpi") and shutil.which("mpicc.openmpi"):
        for source in sources:
            name = os.path.splitext(os.path.basename(source))[0]
            subprocess.run(["mpicc.openmpi", "-O2", "-w", "-o", f"{tmp}/{name}", source], check=True)
        mca = [] if is_local else ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
        found.append(Library("openmpi", ["mpirun.openmpi", "--oversubscribe"] + mca + ["-n", "N"],
                             lambda p: f"{tmp}/{p}",
                             {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}))
    else:
        print("Open MPI is left out: install openmpi-bin and libopenmpi-dev to compare with it")
    return found


def progress(text):
    """On a terminal, in the place of what was there; an empty one goes away."""
    if sys.stderr.isatty():
        print("\r" + text.ljust(60) + ("" if text else "\r"), end="", file=sys.stderr)


def show(lines, save, build, script, title):
    """Print a table; unless save is empty, write it there, too, with date, commit and machine."""
    print("\n".join(lines))
    if not save:
        return
    said = " ".join([script] + [w for i, w in enumerate(sys.argv[1:], 1) if w != "-S" and sys.argv[i - 1] != "-S"])
    header = subprocess.run(["sh", "-c", 'here=$0 build=$1; . "$here/lib.sh"; bench_header "$3" "$2"', HERE, build,
                             said, title], check=True, stdout=subprocess.PIPE, text=True).stdout
    with open(save + ".new", "w", encoding="utf-8") as f:
        f.write(header + "".join(f"    {line}\n" if line else "\n" for line in lines))
    os.replace(save + ".new", save)
