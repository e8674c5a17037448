#!/usr/bin/env python3
"""Public CUDA programs as whole programs on the emulator: what runs, what is right, what hazards are found.

usage: tests/strangers/run.py FOLDER [--only TEXT] [--list FILE] [--seconds N] [--json FILE] [--said FOLDER]

FOLDER holds checkouts of the projects, each under its name in strangers.list, as tests/strangers/get.sh makes them;
nothing of theirs is kept here. A project that is not there is told and left out. nvcc is that of `tilewright doctor`.
Run from the top of the tree, after ninja.
Exit status: 0 where each program that ran ended as its row says, 1 where one did not, 3 where nothing could run.

A row of strangers.list: project | sources, the first of which names it | more options of nvcc | arguments | what is
printed when it is right (a regular expression; empty: the status alone counts), or, behind a `!`, when it goes wrong,
by a fault of its own that is known | kinds of hazards that are known, a colon and a sentence; the status of a program
with hazards is 1, and what it prints must be said then | edits, which may be left out. `1..4` among the arguments is
four rows; `[--sms 4]` before them is for run-program. The program runs in its source's folder. Rows of one source are
named with their arguments, and with their -D where those are the same.

A source is a path in the project, or +FILE, a file of ours in tests/strangers: a program around the project's headers,
or what stands in for a library. `{}` in an option is the project's folder.

Edits give a program whose sizes are constants smaller ones: OLD => NEW, several with ;; between. They are made in a
copy of the first source's folder, in all of its files; one that fits nowhere is a fault. `let NAME TEXT` in a line of
its own has TEXT stand for $NAME in the rows that follow."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SUMMARY = re.compile(r"^tilewright run-program: (\d+) launch(?:es)?, (?:(\d+) failures?, )?(\d+) hazards?$", re.M)


FINE = ("right", "faulty as known")


class Row:
    def __init__(self, line):
        fields = [f.strip() for f in line.split("|")]
        if len(fields) not in (6, 7):
            sys.exit("strangers.list: a row has 6 or 7 fields, this has %d: %s" % (len(fields), line))
        self.project, sources, options, arguments, self.right, self.known = fields[:6]
        edits = [e.strip() for e in "".join(fields[6:]).split(";;")]
        self.edits = [tuple(re.split(r" ?=> ?", e, maxsplit=1)) for e in edits if e]
        if any(len(e) != 2 for e in self.edits):
            sys.exit("strangers.list: an edit is OLD => NEW: %s" % line)
        given, arguments = re.match(r"(?:\[(.*?)\])?(.*)", arguments).groups()
        self.given = (given or "").split()  # to run-program
        self.sources, self.options, self.arguments = sources.split(), options.split(), arguments.split()
        self.faulty, self.right = self.right.startswith("!"), self.right.lstrip("!")
        self.kinds = self.known.split(":")[0].split()
        if self.known and not self.right:
            sys.exit("strangers.list: hazards are known, and nothing says what is printed when it is right: %s" % line)
        self.name = "%s/%s" % (self.project, os.path.splitext(self.sources[0].lstrip("+"))[0])
        self.line = zlib.crc32(line.encode())
        self.made_of = (self.project, sources, options, str(self.edits))


def rows(path):
    found, words = [], {}
    with open(path) as file:
        for line in file:
            line = re.sub(r"\$(\w+)", lambda word: words.get(word.group(1), word.group()), line)
            said = re.match(r"let (\w+) (.*)", line)
            if said:
                words[said.group(1)] = said.group(2).strip()
            elif line.strip() and not line.startswith("#"):
                several = re.search(r"(?<= )(\d+)\.\.(\d+)(?= )", line)
                for number in range(int(several.group(1)), int(several.group(2)) + 1) if several else [None]:
                    found.append(Row(re.sub(re.escape(several.group()), str(number), line, 1) if several else line))
    for told in (lambda row: row.arguments, lambda row: [o for o in row.options if o.startswith("-D")]):
        names = [row.name for row in found]
        for row in found:
            if names.count(row.name) > 1:
                row.name = " ".join([row.name, *told(row)])
    return found


def find_nvcc(program):
    said = subprocess.run([program, "doctor"], capture_output=True, text=True).stdout
    found = re.search(r"^nvcc *path ([^,]*)", said, re.M)
    return found.group(1) if found else None


def edited(row, top, copy):
    """A copy of the first source's folder with the row's edits, in `copy`: None, or the edit that fits nowhere."""
    shutil.copytree(os.path.dirname(os.path.join(top, row.sources[0])), copy)
    left = set(row.edits)
    for folder, _, names in os.walk(copy):
        for name in names:
            with open(os.path.join(folder, name), encoding="latin-1") as file:
                text = file.read()
            for old, new in row.edits:
                left -= {(old, new)} if old in text else set()
                text = text.replace(old, new)
            with open(os.path.join(folder, name), "w", encoding="latin-1") as file:
                file.write(text)
    return next(("nothing to edit: %s" % old for old, new in row.edits if (old, new) in left), None)


def compiled(row, folder, nvcc, out):
    top = os.path.join(folder, row.project)
    options = [o.replace("{}", top) for o in row.options]
    sources = [os.path.join(HERE, s[1:]) if s.startswith("+") else os.path.join(top, s) for s in row.sources]
    if row.edits:
        fault = edited(row, top, out + ".edited")
        if fault:
            return fault
        options += ["-I", os.path.dirname(sources[0])]
        sources[0] = os.path.join(out + ".edited", os.path.basename(sources[0]))
    command = [nvcc, "-lineinfo", "-cudart", "shared", "-gencode", "arch=compute_90a,code=compute_90a", *options,
               *sources, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return None
    said = (done.stderr + done.stdout).strip().splitlines() or ["no message"]
    return next((line for line in said if "error" in line or "undefined reference" in line), said[0])


def run(row, folder, program, out, seconds, said):
    """What came of it, as a row of results."""
    began = time.time()
    first = row.sources[0]
    place = HERE if first.startswith("+") else os.path.dirname(os.path.join(folder, row.project, first))
    command = [program, "run-program", "--hazards", "on", *row.given, "--", out, *row.arguments]
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                            cwd=place, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        printed, told = done.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)  # run-program and the program
        done.communicate()
        return {"name": row.name, "outcome": "time", "seconds": seconds}
    if said:
        with open(os.path.join(said, "%s_%x" % (re.sub(r"[^\w.-]+", "_", row.name), row.line)), "w") as file:
            file.write(printed + told)
    summary = SUMMARY.search(told)
    result = {"name": row.name, "status": done.returncode, "seconds": round(time.time() - began, 1),
              "launches": int(summary.group(1)) if summary else 0, "hazards": int(summary.group(3)) if summary else 0}
    kinds = sorted(set(re.findall(r"^hazard ([A-Z-]+):", told, re.M)))
    missing = sorted(set(re.findall(r"^tilewright: (\w+): the emulated driver has no such entry point", told, re.M)))
    said_so = re.search(row.right, printed + told, re.M) is not None
    if kinds:
        result["kinds"] = kinds
    if missing:
        result["missing"] = missing
    if result["hazards"] and row.known and not set(kinds) - set(row.kinds):
        result["known"] = row.known
    # A program's own status is passed on, but for that hazards make it 1.
    ended = done.returncode == 0 or (done.returncode == 1 and result["hazards"])
    if not summary or not result["launches"]:
        result["outcome"] = "nothing was launched"
    elif row.faulty:
        result["outcome"] = "faulty as known" if said_so else "not as known"
    elif not ended or (summary.group(2) or "0") != "0":
        result["outcome"] = "failed"
    else:
        result["outcome"] = "right" if said_so else "wrong"
    if result["outcome"] not in FINE:
        result["said"] = (told.strip().splitlines() or printed.strip().splitlines() or [""])[0][:300]
    return result


def line_of(result):
    more = " ".join(result.get("kinds", []) + result.get("missing", []))
    text = "%-22s %-60s %5s s  %4d launches  %d hazards %s" % (
        result["outcome"], result["name"], result.get("seconds", 0), result.get("launches", 0),
        result.get("hazards", 0), more)
    for word in ("known", "said"):
        if result.get(word):
            text += "\n    " + result[word]
    return text


def summed(results):
    count = lambda outcome: sum(r["outcome"] == outcome for r in results)
    found = [r for r in results if r.get("hazards")]
    told = ["%d %s" % (count(o), o) for o in ("right", "wrong", "failed")]
    told += ["%d launched nothing" % count("nothing was launched"), "%d out of time" % count("time"),
             "%d not compiled" % count("not compiled")]
    told += ["%d %s" % (count(o), o) for o in ("faulty as known", "not as known") if count(o)]
    return "%d programs: %s; hazards in %d, known as true in %d" % (len(results), ", ".join(told), len(found),
                                                                    sum("known" in r for r in found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--list", default=os.path.join(HERE, "strangers.list"))
    parser.add_argument("--seconds", type=int, default=60, help="that a program may take")
    parser.add_argument("--json", help="results are written there")
    parser.add_argument("--said", help="what each program says is written there, in a file of its name and row")
    parser.add_argument("--program", default="build/tilewright")
    o = parser.parse_args()
    program, nvcc = os.path.abspath(o.program), find_nvcc(o.program)
    if not nvcc:
        print("there is no nvcc: `tilewright doctor` says where it is looked for", file=sys.stderr)
        return 3
    results, absent, made = [], set(), {}
    if o.said:
        os.makedirs(o.said, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for row in rows(o.list):
            if o.only not in row.name:
                continue
            if not os.path.isdir(os.path.join(o.folder, row.project)):
                absent.add(row.project)
                continue
            if row.made_of not in made:
                out = os.path.join(work, "program_%d" % len(made))
                made[row.made_of] = out, compiled(row, os.path.abspath(o.folder), nvcc, out)
            out, fault = made[row.made_of]
            if fault:
                result = {"name": row.name, "outcome": "not compiled", "said": fault[:300]}
            else:
                result = run(row, os.path.abspath(o.folder), program, out, o.seconds, o.said)
            results.append(result)
            print(line_of(result), flush=True)
    for project in sorted(absent):
        print("%s is not there: its programs are left out" % project)
    print(summed(results))
    if o.json:
        with open(o.json, "w") as file:
            json.dump(results, file, indent=1)
    if not results:
        return 3
    return 0 if all(r["outcome"] in FINE and (not r.get("hazards") or "known" in r) for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
