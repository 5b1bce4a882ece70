"""Scripts of the agent on a real machine: what comes back, and that nothing of a script survives it."""

from __future__ import annotations

import threading

import pytest

from tasks_lib.records.errors import ActionError
from tasks_lib.sandbox import Machine

FORKER = """
import os, sys, time
for depth in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.environ.clear()
            time.sleep(600)
        os._exit(0)
print("forked", flush=True)
{last}
"""
COUNT = "import os\nprint(sum(name.isdigit() and int(name) not in (1, os.getpid()) for name in os.listdir('/proc')))\n"


def _others(machine: Machine) -> int:
    return int(machine.computer.run_script(COUNT, name="count").stdout)


def test_runs_in_the_episodes_environment_and_work_folder(code_machine: Machine) -> None:
    code_machine.computer.put_file("in.txt", b"42")
    done = code_machine.computer.run_script(
        "import pymatgen.core, pathlib, sys\n"
        "pathlib.Path('out.txt').write_text(pathlib.Path('in.txt').read_text() * 2)\n"
        "print('Å', sys.stdin.read() == '')\nprint('bad', file=sys.stderr)\nsys.exit(3)\n",
        name="step",
    )
    assert (done.stdout, done.stderr, done.returncode, done.timed_out) == ("Å True\n", "bad\n", 3, False)
    assert code_machine.computer.get_file("out.txt") == b"4242"
    assert b"pathlib" in code_machine.computer.get_file("step.py")


def test_a_script_can_import_what_it_wrote(code_machine: Machine) -> None:
    code_machine.computer.put_file("mine.py", b"value = 7\n")
    assert code_machine.computer.run_script("import mine; print(mine.value)").stdout == "7\n"


def test_time_limit_kills_what_setsid_and_forked_away(code_machine: Machine, needs_isolation: None) -> None:
    done = code_machine.computer.run_script(FORKER.format(last="time.sleep(600)"), seconds=1.5)
    assert done.timed_out
    assert done.returncode < 0
    assert "forked" in done.stdout
    assert done.seconds < 30
    assert _others(code_machine) == 0


def test_a_script_that_ends_leaves_no_process(code_machine: Machine, needs_isolation: None) -> None:
    done = code_machine.computer.run_script(FORKER.format(last=""), seconds=60)
    assert (done.returncode, done.timed_out) == (0, False)
    assert _others(code_machine) == 0


def test_a_fork_bomb_meets_the_cap_and_ends(code_machine: Machine, needs_isolation: None) -> None:
    bomb = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "failed = 0\n"
        "while failed < 50:\n"
        "    try:\n"
        "        os.fork()\n"
        "    except OSError:\n"
        "        failed += 1\n"
        "        print('full', flush=True)\n"
        "time.sleep(600)\n"
    )
    done = code_machine.computer.run_script(bomb, seconds=2)
    assert done.timed_out
    assert "full" in done.stdout
    assert _others(code_machine) == 0


def test_the_memory_cap_holds(code_machine: Machine) -> None:
    done = code_machine.computer.run_script("x = bytearray(1200 * 1024 * 1024)\nprint(len(x))\n", seconds=60)
    assert done.returncode != 0
    assert done.stdout == ""
    assert code_machine.computer.run_script("print('still here')").stdout == "still here\n"


def test_full_scratch_folders_leave_the_machine_alive(code_machine: Machine, needs_isolation: None) -> None:
    fill = (
        "import errno\n"
        "for folder in ('/tmp', '/dev/shm', '/var', '/run/machine'):\n"
        "    try:\n"
        "        for number in range(100):\n"
        "            open(f'{folder}/fill{number}', 'wb').write(bytes(16 * 1024 * 1024))\n"
        "    except OSError as problem:\n"
        "        print(folder, errno.errorcode[problem.errno])\n"
    )
    done = code_machine.computer.run_script(fill, seconds=60)
    assert done.stdout.split() == ["/tmp", "ENOSPC", "/dev/shm", "ENOSPC", "/var", "ENOSPC", "/run/machine", "ENOSPC"]
    assert code_machine.computer.run_script("print('still here')").stdout == "still here\n"
    clean = "import glob, os\nfor f in glob.glob('/*/fill*') + glob.glob('/*/*/fill*'): os.remove(f)\n"
    assert code_machine.computer.run_script(clean).returncode == 0


def test_the_file_size_cap_holds(code_machine: Machine) -> None:
    done = code_machine.computer.run_script(
        "f = open('big', 'wb')\nfor _ in range(80): f.write(bytes(1024 * 1024))\nf.close()\n"
    )
    assert "File too large" in done.stderr
    assert code_machine.computer.run_script("import os\nos.remove('big')\n").returncode == 0


def test_endless_output_is_capped_and_does_not_block(code_machine: Machine) -> None:
    done = code_machine.computer.run_script(
        "import sys\nwhile True: sys.stdout.write('y' * 4096); sys.stderr.buffer.write(b'\\xff\\x00')\n", seconds=1.5
    )
    assert done.timed_out
    assert done.truncated
    head, _, tail = done.stdout.partition("\n")
    said, _, tail = tail.partition("\n")
    assert (len(head), set(head), len(tail), set(tail)) == (32 * 1024, {"y"}, 32 * 1024, {"y"})
    missing = int(said.removeprefix("[… ").removesuffix(" characters missing …]"))
    # Every write is of 4096 signs, whole but perhaps for the last one.
    assert missing > 64 * 1024
    assert set(done.stderr.replace(said, "")) <= set("\ufffd\0\n[… characters missing …]0123456789")


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "x" * 200, "-rf", "a\nb"])
def test_hostile_names_are_refused(code_machine: Machine, name: str) -> None:
    with pytest.raises(ActionError, match="name"):
        code_machine.computer.run_script("print(1)", name=name)


def test_unknown_kind_and_limits_are_refused(code_machine: Machine) -> None:
    with pytest.raises(ActionError, match="kind"):
        code_machine.computer.run_script("print(1)", kind="bash")  # type: ignore[arg-type]
    with pytest.raises(ActionError, match="seconds"):
        code_machine.computer.run_script("print(1)", seconds=-1)


def test_a_script_file_that_is_a_link_is_not_followed(code_machine: Machine) -> None:
    code_machine.computer.run_script("import os\nos.symlink('/tmp/away', 'trap.py')\n", name="set")
    with pytest.raises(ActionError, match="link"):
        code_machine.computer.run_script("print(1)", name="trap")


def test_one_script_at_a_time(code_machine: Machine) -> None:
    computer = code_machine.computer
    wait = "import os\nopen('started', 'w').close()\nwhile os.stat('go').st_size == 0: pass\n"
    computer.put_file("go", b"")
    first = threading.Thread(target=computer.run_script, args=(wait,), kwargs={"name": "first"})
    first.start()
    while not any(entry.path == "started" for entry in computer.list_files()):
        pass
    with pytest.raises(ActionError, match="another script"):
        computer.run_script("print(1)", name="second")
    computer.put_file("go", b"on")
    first.join(30)
    assert not first.is_alive()
    assert computer.run_script("print(2)", name="second").stdout == "2\n"


def test_veusz_draws_from_a_data_file_beside_the_document(code_machine: Machine, needs_veusz: None) -> None:
    computer = code_machine.computer
    computer.put_file("data.csv", b"x,y\n1,2\n2,4\n3,9\n")
    document = (
        "ImportFileCSV('data.csv', linked=True)\n"
        "To(Add('page', autoadd=False))\nTo(Add('graph', autoadd=False))\n"
        "Add('axis', name='x', autoadd=False)\nAdd('axis', name='y', autoadd=False)\nSet('x/label', 'Energy (eV)')\n"
        "Set('y/direction', 'vertical')\nAdd('xy', name='xy1', autoadd=False, xData='x', yData='y')\n"
    )
    done = computer.run_script(document, "veusz", "figure", seconds=120)
    assert done.returncode == 0, done.stderr
    assert computer.get_file("figure.png").startswith(b"\x89PNG")
    assert computer.get_file("figure.pdf").startswith(b"%PDF")
    broken = computer.run_script("Add('nonsense')\n", "veusz", "figure", seconds=120)
    # Veusz says what is wrong; its Qt now and then crashes on the way out, and that is a failure too.
    assert broken.returncode != 0
    assert "nonsense" in broken.stderr
    assert not any(entry.path in ("figure.png", "figure.pdf") for entry in computer.list_files())
