"""Processes that end with the run that started them, however that ends: SIGKILL leaves no machine and no
download behind.
"""
import shutil


def mortal(command):
    """The command line, for a process that is killed when the thread that starts it ends."""
    # Without util-linux the process is an ordinary one.
    return ["setpriv", "--pdeathsig", "KILL", *command] if shutil.which("setpriv") else list(command)
