"""Rows of pair.c into tests/bench/results/gemm_program.json, and tests/README.md's table of them.

    python3 tests/bench/pair/rows.py [GROUP.json...]

GROUP.json is what pair wrote of one group (plain, scaled, ..., sm_80_two); its rows take the place of the group's own.
cuBLASLt's stay where the new ones were measured --alone. Without files only the table is printed.
"""
import json
import math
import os
import sys

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'results', 'gemm_program.json')
TABLE = [('plain', ('plain', 'narrow')), ('256 x 128 tiles', ('wide',)), ('alpha, beta, C', ('scaled',)),
         ('bias, gelu, residual', ('gelu',)), ('two outputs', ('two',)), ('unaligned rows', ('unaligned',)),
         ('sm_80 plain', ('sm_80_plain',)), ('sm_80 bias, gelu, residual', ('sm_80_gelu',)),
         ('sm_80 two outputs', ('sm_80_two',))]
# Of each launch, but of windows too short for the board's counters.
LEFT_OUT = ('energy_mj', 'clock_mhz', 'clock_reasons')


def read_group(path):
    group = os.path.basename(path)[:-len('.json')]
    arch = 'sm_80' if group.startswith('sm_80') else 'sm_90a'
    with open(path) as file:
        rows = json.load(file)
    return group, [{k: v for k, v in dict(r, kernel=group, arch=arch).items() if k not in LEFT_OUT} for r in rows]


def replace(old, groups):
    rows, begun = [], set()
    for row in old:
        group = row['kernel']
        fresh = groups.get(group)
        if fresh is None or (row['backend'] == 'cublaslt' and not any(r['backend'] == 'cublaslt' for r in fresh)):
            rows.append(row)
        elif group not in begun:
            rows += fresh
            begun.add(group)
    return rows + [row for group, fresh in groups.items() if group not in begun for row in fresh]


def print_table(rows):
    times = {}
    for r in rows:
        side = 'again' if 'again' in r['backend'] else r['backend'].rsplit('_', 1)[-1]
        shape = tuple(r['problem_size'].values())
        times.setdefault((r['kernel'], shape, r['mode']), {})[side] = r['latency_ns']
    print('| kernel | shapes | burst: geometric mean, least; A/A least | sustained: geometric mean, least; A/A least |')
    print('| --- | --- | --- | --- |')
    for name, groups in TABLE:
        cells = []
        for mode in ('burst', 'sustained'):
            of = [t for (kernel, _, m), t in times.items() if kernel in groups and m == mode]
            program, again = [t['fam'] / t['prog'] for t in of], [t['fam'] / t['again'] for t in of]
            mean = math.exp(sum(map(math.log, program)) / len(program))
            cells.append('%.3f, %.3f; %.3f' % (mean, min(program), min(again)))
        print('| %s | %d | %s |' % (name, len(of), ' | '.join(cells)))


def main(paths):
    with open(RESULTS) as file:
        results = json.load(file)
    results['rows'] = replace(results['rows'], dict(map(read_group, paths)))
    if paths:
        with open(RESULTS, 'w') as file:
            json.dump(results, file, indent=1)
            file.write('\n')
    print_table(results['rows'])


main(sys.argv[1:])
