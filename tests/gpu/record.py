"""What tests/gpu/run told, as tests/bench/results/gpu.json.

    sh tests/gpu/run | python3 tests/gpu/record.py [--commit WORDS] [--out FILE]

A row is one test with what its comments say of it (how many cases, how many sizes). The status says whether all passed;
what is read is printed again, and the record is left by itself at the end of a whole run alone.
"""
import argparse
import json
import re
import subprocess
import sys

RESULT = re.compile(r'(not )?ok \d+ - (.*)')


def gpu():
    query = ['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader']
    try:
        name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split('\n')[0].split(', ')
    except (OSError, ValueError, subprocess.CalledProcessError):
        return {}
    return {'gpu_model': name, 'driver': driver}


def head():
    told = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True, check=False)
    return told.stdout.strip() or 'COMMIT'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--commit')
    parser.add_argument('--out', default='tests/bench/results/gpu.json')
    arguments = parser.parse_args()
    rows, says, whole = [], [], False
    for line in sys.stdin:
        print(line, end='', flush=True)
        result = RESULT.match(line)
        if result:
            # What a test says of a failure stands behind it.
            rows.append({'test': result[2], 'passed': not result[1], **({'says': '; '.join(says)} if says else {})})
            says = []
        elif line.startswith('# ') and (not rows or rows[-1]['passed']):
            says.append(line[2:].strip())
        whole = whole or line.startswith('1..')
    if not whole or not rows:
        print('record.py: the run was broken off, nothing is recorded', file=sys.stderr)
        return 1
    failed = sum(not row['passed'] for row in rows)
    record = {
        'made_by': 'tests/gpu/record.py',
        'what': 'every spec, the grid of layouts, types and sizes, random programs, launches and debug builds on a GPU',
        'command': 'sh tests/gpu/run | python3 tests/gpu/record.py',
        'commit': arguments.commit or head(),
        **gpu(),
        'passed': len(rows) - failed,
        'failed': failed,
        'tests': rows,
    }
    with open(arguments.out, 'w', encoding='utf-8') as out:
        json.dump(record, out, indent=1)
        out.write('\n')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
