"""Two folders of the same kernels' cubins compared, kernel by kernel; and tests/README.md's table of what came out.

    build/tilewright build specs/gemm.lua -o OURS --keep        (and the other tree's program: -o THEIRS --keep)
    python3 tests/bench/pair/machine_code.py OURS THEIRS [NVRTC.json] >tests/bench/results/gemm_machine_code.json
    python3 tests/bench/pair/machine_code.py --table

Of each ENTRY.ARCH.cubin in both folders: registers, stack (spills), shared memory (the plan's, beside the cubin), code
bytes, how often each instruction of interest stands in it, and the histogram of the main loop: the innermost loop that
has most tensor-core instructions, its blocks out of line included, by what comes before the first dot of an opcode.
NVRTC.json: of tests/bench/nvrtc_time.py --beside: user seconds of a cubin, ours and theirs.
Needs cuobjdump: of $CUDA_HOME/bin, /usr/local/cuda/bin or the PATH.
"""
import collections
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'results', 'gemm_machine_code.json')
MMA = ('HGMMA', 'HMMA')
COUNTED = MMA + ('UTMALDG', 'UTMASTG', 'LDGSTS', 'LDSM', 'STSM', 'LDS', 'STS', 'LDG', 'STG', 'LDL', 'STL', 'SYNCS', 'BAR')
NOTHING = ('NOP',)
LINE = re.compile(r'^\s+/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);')
TARGET = re.compile(r'0x([0-9a-f]+)\s*$')
ENDS = ('EXIT', 'RET', 'BRA', 'BRX', 'JMP', 'BSYNC')


def disassembler():
    folders = [os.environ.get('CUDA_HOME'), '/usr/local/cuda']
    for path in [os.path.join(folder, 'bin', 'cuobjdump') for folder in folders if folder]:
        if os.path.exists(path):
            return path
    found = shutil.which('cuobjdump')
    return found or sys.exit('machine_code.py: no cuobjdump; set CUDA_HOME')


class Instruction:
    """An instruction and where control goes behind it: addresses."""

    def __init__(self, match):
        self.address = int(match.group(1), 16)
        self.always = not match.group(2)
        self.name = match.group(3).split('.')[0]
        operands = match.group(4).strip()
        self.register = operands.split(',')[0].strip()
        target = TARGET.search(operands)
        self.target = int(target.group(1), 16) if target else None
        if self.name == 'BRA' and ',' in operands: # a predicate among the operands
            self.always = False

    def successors(self, following, meets):
        to = []
        if self.name in ('BRA', 'JMP', 'CALL') and self.target is not None:  # CALL.REL.NOINC: jumps out of loops
            to.append(self.target)
        elif self.name == 'BSYNC':  # to where the BSSY before it says: behind it, but for paths out of line
            begins = [m for m in meets if m.register == self.register]
            if following not in [m.target for m in begins]:
                to += [m.target for m in begins if m.address < self.address][-1:]
        if following is not None and not (self.always and self.name in ENDS and (to or self.name != 'BSYNC')):
            to.append(following)
        return to


def read_code(cubin):
    text = subprocess.run([disassembler(), '-sass', cubin], check=True, capture_output=True, text=True).stdout
    code = [Instruction(m) for m in map(LINE.match, text.splitlines()) if m]
    while code and code[-1].name in NOTHING + ('BRA',) and code[-1].target in (None, code[-1].address):
        code.pop()  # what fills the last line of the cache
    return code


def dominators(successors, order):
    """Of each number of a graph in reverse postorder, its immediate dominator."""
    place = {node: i for i, node in enumerate(order)}
    before = collections.defaultdict(list)
    for node in order:
        for to in successors[node]:
            before[to].append(node)
    idom = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            new = None
            for b in before[node]:
                if b not in idom:
                    continue
                a = new if new is not None else b
                while a != b:
                    if place[a] > place[b]:
                        a = idom[a]
                    else:
                        b = idom[b]
                new = a
            if new is not None and idom.get(node) != new:
                idom[node] = new
                changed = True
    return idom, before


def loops(code):
    """The natural loops: sets of indices into the code."""
    at = {i.address: k for k, i in enumerate(code)}
    meets = [i for i in code if i.name == 'BSSY']
    successors = []
    for k, i in enumerate(code):
        following = code[k + 1].address if k + 1 < len(code) else None
        successors.append([at[a] for a in i.successors(following, meets) if a in at])
    seen, order, stack = {0}, [], [(0, iter(successors[0]))]
    while stack:
        node, rest = stack[-1]
        to = next((t for t in rest if t not in seen), None)
        if to is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(to)
            stack.append((to, iter(successors[to])))
    order.reverse()
    idom, before = dominators(successors, order)
    found = {}
    for node in order:
        for head in successors[node]:
            above = node
            while above != head and idom[above] != above:
                above = idom[above]
            if above != head:
                continue
            body, todo = {head}, [node]
            while todo:
                one = todo.pop()
                if one not in body:
                    body.add(one)
                    todo += before[one]
            found.setdefault(head, set()).update(body)
    return list(found.values())


def main_loop(code):
    """The histogram of the innermost loop with most tensor-core instructions; None where there is no such loop."""
    of_mma = [body for body in loops(code) if any(code[k].name in MMA for k in body)]
    innermost = [body for body in of_mma if not any(other < body for other in of_mma)]
    if not innermost:
        return None
    body = max(innermost, key=lambda b: (sum(code[k].name in MMA for k in b), -len(b)))
    return dict(sorted(collections.Counter(code[k].name for k in body if code[k].name not in NOTHING).items()))


def read_cubin(path):
    usage = subprocess.run([disassembler(), '-res-usage', path], check=True, capture_output=True, text=True).stdout
    use = dict(re.findall(r'\b(REG|STACK|SHARED|LOCAL):(\d+)', usage))
    code = read_code(path)
    names = collections.Counter(i.name for i in code)
    row = {'registers': int(use['REG']), 'stack_bytes': int(use['STACK']) + int(use['LOCAL'])}
    plan = path[:-len('.cubin')] + '.plan.json'
    if os.path.exists(plan):
        with open(plan) as file:
            row['shared_bytes'] = json.load(file)['launch']['shared_bytes']
    row['instructions'] = len(code)
    row['counts'] = {name: names[name] for name in COUNTED if names[name]}
    row['main_loop'] = main_loop(code)
    return row


def difference(ours, theirs):
    """What ours has more (above 0) or less of."""
    ours, theirs = ours or {}, theirs or {}
    return {k: ours.get(k, 0) - theirs.get(k, 0) for k in sorted({*ours, *theirs}) if ours.get(k, 0) != theirs.get(k, 0)}


def compare(ours, theirs, nvrtc):
    rows = []
    for path in sorted(glob.glob(os.path.join(ours, '*.cubin'))):
        name = os.path.basename(path)
        other = os.path.join(theirs, name)
        if not os.path.exists(other):
            print('machine_code.py: %s has no %s' % (theirs, name), file=sys.stderr)
            continue
        entry, arch, _ = name.split('.')
        a, b = read_cubin(path), read_cubin(other)
        row = {'kernel': entry, 'arch': arch, 'ours': a, 'theirs': b,
               'more_in_main_loop': difference(a['main_loop'], b['main_loop'])}
        if (entry, arch) in nvrtc:
            row['nvrtc_user_s'] = nvrtc[entry, arch]
        rows.append(row)
    return rows


def read_nvrtc(path):
    times = {}
    with open(path) as file:
        for r in json.load(file)['rows']:
            side = 'ours' if r['backend'] == 'tilewright' else 'theirs'
            times.setdefault((r['kernel'], r['arch']), {})[side] = r['cubin_user_s']
    return {k: v for k, v in times.items() if len(v) == 2}


def total(histogram):
    return sum((histogram or {}).values())


def print_table(rows):
    def count(of, holds):
        return '%d of %d' % (sum(map(holds, of)), len(of))

    print('| architecture | kernels | registers: fewer or equal | shared memory: equal, less | main loop: fewer'
          ' instructions; mean, most | spills |')
    print('| --- | --- | --- | --- | --- | --- |')
    for arch in sorted({r['arch'] for r in rows}, reverse=True):
        of = [r for r in rows if r['arch'] == arch]
        shared = [r['ours']['shared_bytes'] - r['theirs']['shared_bytes'] for r in of]
        loop = [total(r['ours']['main_loop']) / total(r['theirs']['main_loop']) for r in of]
        mean = math.exp(sum(map(math.log, loop)) / len(loop))
        print('| %s | %d | %s | %d, %d | %s; %.2f, %.2f | %d |' %
              (arch, len(of), count(of, lambda r: r['ours']['registers'] <= r['theirs']['registers']),
               sum(s == 0 for s in shared), sum(s < 0 for s in shared), '%d of %d' % (sum(n < 1 for n in loop), len(of)),
               mean, max(loop), sum(r['ours']['stack_bytes'] > 0 for r in of)))


def main(words):
    if words == ['--table']:
        with open(RESULTS) as file:
            print_table(json.load(file)['rows'])
        return
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    rows = compare(words[0], words[1], read_nvrtc(words[2]) if len(words) == 3 else {})
    what = 'cubins of the same kernels: ours, and of the family of hand-written templates (commit 4cd59b8)'
    commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True).stdout.strip()
    print('{"made_by": "tests/bench/pair/machine_code.py", "what": "%s", "commit": "%s", "rows": [' % (what, commit))
    print(',\n'.join(' ' + json.dumps(row) for row in rows) + '\n]}')


main(sys.argv[1:])
