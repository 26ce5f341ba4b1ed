"""Running programs that do not outlive this one, and what is to be known of the machine."""
import os
import platform
import shutil
import subprocess
import tempfile
import time


class Stopped(Exception):
    """A signal has come."""


class Runner:
    """Runs one program at a time, with a limit of seconds."""

    def __init__(self):
        self.child = None
        # What is run ends with this program, even when that is killed.
        self.prefix = ['setpriv', '--pdeathsig', 'TERM'] if shutil.which('setpriv') else []

    def run(self, command, limit, env=None, cwd=None):
        """Its status (None: the time was up), what it printed, what it complained, seconds. Both go through files,
        since who inherits a pipe could keep it open."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            self.child = subprocess.Popen(self.prefix + command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                          env=env, cwd=cwd)
            try:
                status = self.child.wait(max(limit, 0.1))
            except subprocess.TimeoutExpired:
                self.stop()
                status = None
            except BaseException:  # before files that it uses are removed
                self.stop()
                raise
            seconds = time.monotonic() - began
            self.child = None
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors='replace'))
        return status, texts[0], texts[1], seconds

    def stop(self):
        """End what runs."""
        if self.child is None:
            return
        self.child.terminate()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child = None


def last_lines(text, n=5):
    """The last lines of what a program said."""
    return '\n'.join(text.rstrip().splitlines()[-n:])


def field_of(path, name):
    """What stands behind "name:" in a file of /proc; '' if it does not."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            for line in file:
                key, _, value = line.partition(':')
                if key.strip() == name:
                    return value.strip()
    except OSError:
        pass
    return ''


def machine():
    """Where this is measured, by name."""
    total = field_of('/proc/meminfo', 'MemTotal').split()
    return {
        'host': platform.node(),
        'processor': field_of('/proc/cpuinfo', 'model name') or platform.machine(),
        'cores': len(os.sched_getaffinity(0)),
        'memory': f'{int(total[0]) / 1048576:.1f} GiB' if total else 'unknown',
        'system': f'{platform.system()} {platform.release()} {platform.machine()}',
        'load': round(os.getloadavg()[0], 2),
    }


def settings():
    """The DATUM_ variables and the dat.conf that are set."""
    return {name: value for name, value in sorted(os.environ.items())
            if name.startswith('DATUM_') or name == 'DAT_OVERRIDE'}


def write_whole(path, text):
    """A file as a whole or not at all; OSError with its name."""
    new = path + '.new'
    try:
        with open(new, 'w', encoding='utf-8') as file:
            file.write(text)
        os.replace(new, path)
    except OSError as error:
        if os.path.islink(new) or os.path.isfile(new):
            os.unlink(new)
        raise OSError(error.errno, error.strerror, path) from None
