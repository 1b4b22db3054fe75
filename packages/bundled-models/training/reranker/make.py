"""Makes models/quire-rerank-2.bin. `npm run eval:rerank` of the repository measures it.

    OMP_NUM_THREADS=1 python3 training/reranker/make.py DATA OUT models/quire-embed-1.bin

OUT is a scratch folder: what a run before left there is not made again. Node has to be on the PATH.
"""
import hashlib
import json
import os
import struct
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '..'))

from fit import GATE, HOLD_OUT, Lists, calibrate, fit  # noqa: E402
from runtime import node  # noqa: E402

NAME = 'quire-rerank-2.bin'
DIGITS = 5


def rounded(values):
    return [float(f'{float(v):.{DIGITS}g}') for v in values]


def write(path, scorer, embedder, frequencies):
    """The file: `QUIRERR2`, u32 length of the header, the header as JSON, the frequency sketch."""
    with open(frequencies, 'rb') as file:
        counted = file.read()
    with open(embedder, 'rb') as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    w = scorer.weights
    header = {'embedder': digest, 'features': scorer.names, 'mean': rounded(scorer.mean), 'spread': rounded(scorer.spread),
              'hidden': [rounded(unit) for unit in w['hidden'].T], 'hiddenBias': rounded(w['bias']), 'out': rounded(w['out']),
              'outBias': rounded([w['out bias']])[0], 'direct': rounded(w['direct']), 'gate': GATE,
              'slope': rounded(scorer.line)[0], 'offset': rounded(scorer.line)[1],
              'documents': struct.unpack_from('<I', counted)[0], 'slots': len(counted) - 4}
    text = json.dumps(header, separators=(',', ':')).encode()
    with open(path, 'wb') as file:
        file.write(b'QUIRERR2' + struct.pack('<I', len(text)) + text + counted[4:])
    print(path, f'{os.path.getsize(path):,} bytes')


def main():
    data, out, embedder = sys.argv[1:]
    if not os.path.exists(f'{out}/train.jsonl'):
        subprocess.run([sys.executable, os.path.join(HERE, 'lists.py'), data, out, embedder], check=True)
    if not os.path.exists(f'{out}/frequencies.bin'):
        node('reranker/count.ts', out)
    if not os.path.exists(f'{out}/train.features.bin'):
        node('reranker/dump.ts', out, embedder, 'train')
    with open(f'{out}/features.json', encoding='utf-8') as file:
        names = json.load(file)
    lists = Lists(out)
    which = np.arange(len(lists.sources))
    made = fit(lists, which[which % HOLD_OUT != 0], names)
    held = which[which % HOLD_OUT == 0]
    calibrate(made, lists, held)
    scores = made.probability(lists.features)
    for source in sorted(set(lists.sources)):
        found = [lists.cut(scores, i) for i in held if lists.sources[i] == source]
        first = [(f[0] >= f.max() - 1e-9) / (f >= f.max() - 1e-9).sum() for f in found]
        print(f'{source:18} right first in {np.mean(first):.3f} of {len(first)} lists kept from the fit')
    write(f'{out}/{NAME}', made, embedder, f'{out}/frequencies.bin')


if __name__ == '__main__':
    main()
