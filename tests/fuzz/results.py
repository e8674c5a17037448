r"""What tests/fuzz/all.sh ran, as tests/bench/results/fuzz.json.

    sh tests/fuzz/all.sh build/fuzz 3600 spec:1 template:1
    python3 tests/fuzz/results.py --commit COMMIT [--machine WORDS] [--note WORDS] SUMMARY... \
        >tests/bench/results/fuzz.json

Several runs, each with its summary and each from the corpus that the one before it left, are summed by target; their
findings also stand one by one, in the order of the summaries. A note says what became of these. Edges and features are
of the first and the last moment of which libFuzzer told; executions are those that it counted.
"""
import argparse
import json
import os
import re

LINE = re.compile(r'(\w+) processes (\d+) user\+system ([\d.]+) ([\d.]+) +corpus (\d+) files findings (\d+) (.*)')
MOMENT = re.compile(r'#(\d+): cov: (\d+) ft: (\d+) corp: (\d+)')


def read(path, targets):
    with open(path, encoding='utf-8', errors='replace') as summary:
        for line in summary:
            match = LINE.match(line)
            if not match:
                continue
            name, processes, user, system, corpus, findings, rest = match.groups()
            moments = [tuple(map(int, moment)) for moment in MOMENT.findall(rest)]
            target = targets.setdefault(name, {'hours of processor': 0.0, 'executions': 0, 'runs': 0, 'findings': 0})
            target['runs'] += 1
            target['processes'] = int(processes)
            target['hours of processor'] += (float(user) + float(system)) / 3600
            target['findings'] += int(findings)
            target.setdefault('findings of each run', []).append(int(findings))
            target['new inputs kept'] = int(corpus)
            if moments:
                target['executions'] += moments[-1][0]
                target.setdefault('edges', [moments[0][1], 0])[1] = moments[-1][1]
                target.setdefault('features', [moments[0][2], 0])[1] = moments[-1][2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--commit', required=True)
    parser.add_argument('--machine', default='%d cores of %s' % (os.cpu_count(), os.uname().machine))
    parser.add_argument('--note')
    parser.add_argument('summary', nargs='+')
    arguments = parser.parse_args()
    targets = {}
    for path in arguments.summary:
        read(path, targets)
    for target in targets.values():
        target['hours of processor'] = round(target['hours of processor'], 3)
    print(json.dumps({
        'made_by': 'tests/fuzz/results.py',
        'what': 'fuzz targets under ASan and UBSan: hours, executions, and inputs that crashed, hung or took memory out '
                'of proportion',
        'command': 'sh tests/fuzz/all.sh build/fuzz SECONDS TARGET:PROCESSES...',
        'commit': arguments.commit,
        'machine': arguments.machine,
        'hours of processor': round(sum(t['hours of processor'] for t in targets.values()), 3),
        'findings': sum(t['findings'] for t in targets.values()),
        **({'note': arguments.note} if arguments.note else {}),
        'targets': targets,
    }, indent=1))


if __name__ == '__main__':
    main()
