r"""A run of random programs as tests/bench/results/random_programs.json, from what the run logged; and of random specs
of the family gemm as random_specs.json, emulated and compiled to cubins, by two runs or by one that does both.

    build/tests/emu/random/random_programs --first 1 --count 2000 --quiet --log LOG
    python3 tests/emu/random/results.py --commit COMMIT [--machine WORDS] LOG... \
        >tests/bench/results/random_programs.json

    build/tests/emu/random/random_programs --specs --first 1 --count 5000 --quiet --log LOG
    build/tests/emu/random/random_programs --specs --compile --first 1 --count 300 --quiet --log CUBINS
    python3 tests/emu/random/results.py --commit COMMIT [--machine WORDS] --compiled CUBINS LOG... \
        >tests/bench/results/random_specs.json

    build/tests/emu/random/random_programs --specs --both --first 1 --count 5000 --quiet --log LOG
    python3 tests/emu/random/results.py --commit COMMIT [--machine WORDS] --both LOG... \
        >tests/bench/results/random_specs.json

    sh tests/gpu/random.sh >tests/bench/results/random_gpu.json

A run may be in parts, each with a log of its own, also gzipped: a program that stands in several counts once, as the
last log has it. The seeds between the least and the largest that no log has are listed as missing. COMMIT is the tree
that ran; `random_programs --replay` of the same tree counts what the log says, so it has to be built.
"""
import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = 'build/tests/emu/random/random_programs'
COMMAND = PROGRAM + ' --first %d --count %d --quiet --log LOG'
RULE = re.compile(r'\[([A-Z0-9-]+)\]$')


def read_programs(paths):
    """{seed: (good, lines)}"""
    programs = {}
    for path in paths:
        with (gzip.open if path.endswith('.gz') else open)(path, 'rt', errors='replace') as log:
            lines = None
            for line in log:
                words = line.split()
                if len(words) == 3 and words[0] == 'program':
                    lines = [line]
                    programs[int(words[1])] = (words[2] == '1', lines)
                elif lines is not None:
                    lines.append(line)
    return programs


def replay(programs, *options):
    """The lines of the table that random_programs prints of a log."""
    with tempfile.NamedTemporaryFile('w', suffix='.log') as log:
        for seed in sorted(programs):
            log.writelines(programs[seed][1])
        log.flush()
        done = subprocess.run([PROGRAM, *options, '--replay', log.name, '--quiet'], capture_output=True, text=True,
                              check=False)
    return done.stdout.split('\n')


def tally(lines):
    """{group: {name: times}} of the block `# what was hit`."""
    groups, on = {}, False
    for line in lines:
        if line.startswith('# '):
            if not line.startswith('#   '):
                on = line == '# what was hit'
            elif on:
                name, times = line[4:].rsplit(' ', 1)
                group, rest = name.split('.', 1)
                groups.setdefault(group, {})[rest] = int(times)
    return groups


def pairs_of(lines):
    found = {}
    for line in lines:
        if match := re.match(r'# (\d+) of (\d+) pairs of features met$', line):
            found['met'], found['possible'] = map(int, match.groups())
        if line.startswith('# pairs that never met:'):
            found['never'] = line.split(':', 1)[1].split()
        if match := re.match(r'# pairs that cannot meet: (\d+) of (\d+)$', line):
            found['cannot'] = int(match.group(1))
    return found


def ranges(numbers):
    """'101-125' for each run of them."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ['%d-%d' % tuple(run) for run in runs]


def refusals(programs):
    """By rule: how many kernels."""
    rules = {}
    for _, lines in programs.values():
        for line in lines:
            if line.startswith('why ') and (match := RULE.search(line.strip())):
                rules[match.group(1)] = rules.get(match.group(1), 0) + 1
    return dict(sorted(rules.items()))


def specs_of(programs, command, commit):
    """What became of random specs: which were refused by check, by rule, and which failed behind it."""
    seeds = sorted(programs)
    ran = {}
    for _, lines in programs.values():
        for line in lines:
            words = line.split()
            if len(words) == 3 and words[0] == 'ran':
                ran[words[2]] = ran.get(words[2], 0) + 1
    failed = {seed: [line.strip() for line in programs[seed][1] if line.startswith('bad ')]
              for seed in seeds if not programs[seed][0]}
    return {
        'command': command % (seeds[0], seeds[-1] - seeds[0] + 1),
        'commit': commit,
        'specs': len(programs),
        'seeds': [seeds[0], seeds[-1]],
        'missing': ranges(sorted(set(range(seeds[0], seeds[-1] + 1)) - set(seeds))),
        'passed': sum(good for good, _ in programs.values()),
        'failed': failed,
        'kernels': {'ran': ran, 'refused by check': refusals(programs)},
    }


def launches_of(programs):
    """What the emulator ran of random specs."""
    hit = tally(replay(programs, '--specs'))
    return {
        'launches': {mode: hit.get('launch', {}).get(mode, 0) for mode in ('eager', 'late', 'random')},
        'compared': {how: hit.get('launch', {}).get(how, 0) for how in ('equal', 'within bounds')},
    }


def print_both(arguments):
    programs = read_programs(arguments.log)
    command = COMMAND.replace(PROGRAM, PROGRAM + ' --specs --both')
    print(json.dumps({
        'made_by': 'tests/emu/random/results.py',
        'what': 'random specs of the family gemm, both architectures: what check takes is compiled to cubins, spills '
                'being failures, and verified on the emulator, hazards fatal',
        'machine': arguments.machine,
        'emulated and compiled': {**specs_of(programs, command, arguments.commit), **launches_of(programs)},
    }, indent=1))


def print_specs(arguments):
    emulated, compiled = read_programs(arguments.log), read_programs(arguments.compiled)
    command = COMMAND.replace(PROGRAM, PROGRAM + ' --specs')
    first = {**specs_of(emulated, command, arguments.commit), **launches_of(emulated)}
    print(json.dumps({
        'made_by': 'tests/emu/random/results.py',
        'what': 'random specs of the family gemm, both architectures: what check takes is verified on the emulator, '
                'hazards fatal; and compiled to cubins, spills being failures',
        'machine': arguments.machine,
        'emulated': first,
        'compiled': specs_of(compiled, command.replace('--specs', '--specs --compile'),
                             arguments.compiled_commit or arguments.commit),
    }, indent=1))


def print_gpu(arguments):
    """What programs gave on a device, of the log that random_programs --device kept."""
    programs = read_programs(arguments.log)
    seeds, ran, device, worst = sorted(programs), {}, set(), [(0.0, '', '')] * 2
    passed = failed = 0
    for good, lines in programs.values():
        for line in lines:
            words = line.split()
            if words[0] == 'ran' and len(words) == 3:
                ran[words[2]] = ran.get(words[2], 0) + 1
            elif words[0] == 'device':
                device.add(line.split(' ', 1)[1].strip())
            elif words[0] == 'worst' and len(words) == 5:
                passed += 1
                worst = [max(worst[i], (float(words[1 + i]), words[3], words[4])) for i in range(2)]
            elif words[0] == 'bad':
                failed += 1
    print(json.dumps({
        'made_by': 'tests/gpu/random.sh',
        'what': 'random programs on a device, every size with both kinds of inputs, against their meaning within the '
                'bound of each element',
        'command': arguments.command,
        'commit': arguments.commit,
        'device': sorted(device),
        'seeds': seeds,
        'programs': {'passed': sum(good for good, _ in programs.values()),
                     'failed': [seed for seed in seeds if not programs[seed][0]]},
        'kernels': {'ran': ran, 'refused': refusals(programs)},
        'launches': {'passed': passed, 'failed': failed},
        # Of an element it is often 1: a bound ends at a number that its type has.
        'worst error to bound': {name: dict(zip(('ratio', 'kernel', 'architecture'), of))
                                 for name, of in zip(('of an element', 'of the norms of an output'), worst)},
    }, indent=1))
    return 0 if programs and passed and not failed and all(good for good, _ in programs.values()) else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--compiled', action='append', default=[], help='log of specs that were compiled to cubins')
    parser.add_argument('--both', action='store_true', help='the logs are of specs that were compiled and ran')
    parser.add_argument('--compiled-commit', help='the tree that compiled them, where it is another one')
    parser.add_argument('--gpu', action='store_true', help='the logs are of random_programs --device')
    parser.add_argument('--command', default='sh tests/gpu/random.sh', help='what made the logs')
    parser.add_argument('--commit', required=True)
    parser.add_argument('--machine', default='%d cores of %s' % (os.cpu_count(), os.uname().machine))
    parser.add_argument('log', nargs='+')
    arguments = parser.parse_args()
    if arguments.gpu:
        sys.exit(print_gpu(arguments))
    if arguments.compiled or arguments.both:
        (print_both if arguments.both else print_specs)(arguments)
        return
    programs = read_programs(arguments.log)
    if not programs:
        sys.exit('results.py: no program in these logs')
    lines = replay(programs)
    hit, seeds = tally(lines), sorted(programs)
    rings = {name: sum(hit.get(name, {}).values()) for name in ('wrapped twice', 'once a block', 'NOT WRAPPED')}
    ran = sum(line.startswith('ran ') for _, of in programs.values() for line in of)
    print(json.dumps({
        'made_by': 'tests/emu/random/results.py',
        'what': 'random programs on the emulator, hazards fatal, in three completion modes, against their meaning',
        'command': COMMAND % (seeds[0], seeds[-1] - seeds[0] + 1),
        'commit': arguments.commit,
        'machine': arguments.machine,
        'programs': len(programs),
        'seeds': [seeds[0], seeds[-1]],
        'missing': ranges(sorted(set(range(seeds[0], seeds[-1] + 1)) - set(seeds))),
        'passed': sum(good for good, _ in programs.values()),
        'failed': [seed for seed in seeds if not programs[seed][0]],
        'kernels': {'ran': ran, 'refused': refusals(programs)},
        'launches': {mode: hit.get('launch', {}).get(mode, 0) for mode in ('eager', 'late', 'random')},
        'compared': {
            'equal': hit.get('launch', {}).get('equal', 0),
            'within bounds': hit.get('launch', {}).get('within bounds', 0),
            'with the naive twin': hit.get('twin', {}).get('compared', 0),
            'with the first kernel': hit.get('how', {}).get('compared with the first kernel', 0),
            'with the first kernel, of another tile that rounds otherwise':
                hit.get('how', {}).get('compared with another tile', 0),
        },
        'pairs_of_features': pairs_of(lines),
        'rings': {'wrapped twice': rings['wrapped twice'], 'filled once a block': rings['once a block'],
                  'not wrapped': rings['NOT WRAPPED'],
                  'which': [line[2:] for line in lines if ': ring ' in line and line.startswith('# random program')]},
        'fields changed': hit.get('changed', {}),
        'fields and rows not met': [line[2:] for line in lines if ' that no kernel changed:' in line or
                                    ' that no step was:' in line],
        'rows of place_ops.def': hit.get('row', {}),
        'rules': hit.get('rule', {}),
        'steps': {name: times for name, times in hit.get('step', {}).items() if times},
        'steps_not_met': [name for name, times in hit.get('step', {}).items() if not times],
    }, indent=1))


if __name__ == '__main__':
    main()
