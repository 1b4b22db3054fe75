"""Writes the weights file that models/quire-moderation-1.md describes."""
import json
import struct

import numpy as np

import sources


def eight_bits(rows):
    """(scales, int8 values) of a matrix, one scale a row."""
    scales = np.abs(rows).max(1) / 127
    scales[scales == 0] = 1
    return scales.astype('<f4'), np.rint(rows / scales[:, None]).astype(np.int8)


def hashed(word):
    """FNV-1a over UTF-16 units, as the reader's `hash`."""
    value = 0x811c9dc5
    raw = word.encode('utf-16-le')
    for at in range(0, len(raw), 2):
        value = ((value ^ (raw[at] | raw[at + 1] << 8)) * 0x01000193) & 0xffffffff
    return value


def export(net, words, path, slope, offset, length_slope=(0,) * 5, model='quire-moderation-1'):
    """`net` trained over the vocabulary `words`, with the calibration of each category, as a file at `path`."""
    state = {name: value.detach().numpy() for name, value in net.state_dict().items()}
    filters = state['filters.weight']  # filters, width, places
    count, width, places = filters.shape
    scales, values = eight_bits(state['table'])
    weights = filters.transpose(2, 0, 1).reshape(-1, width)
    largest = np.abs((values * scales[:, None]) @ weights.T).max()
    head = {'model': model, 'categories': sources.CATEGORIES, 'words': len(words), 'width': width, 'buckets': len(state['buckets']),
            'filters': count, 'reach': places // 2, 'hidden': len(state['hidden.bias']), 'block': 64, 'step': float(2.0 ** np.ceil(np.log2(largest / 6400))),
            'slope': [round(float(x), 4) for x in slope], 'offset': [round(float(x), 4) for x in offset],
            'lengthSlope': [round(float(x), 4) for x in length_slope]}
    with open(path, 'wb') as file:
        text = json.dumps(head).encode()
        file.write(b'QMOD' + struct.pack('<I', len(text)) + text)
        file.write(np.array([hashed(word) for word in words], '<u4').tobytes())
        for rows in (state['table'], state['buckets'], weights):
            scales, values = eight_bits(rows)
            file.write(scales.tobytes() + values.tobytes())
        for name in ('filters.bias', 'hidden.weight', 'hidden.bias', 'out.weight', 'out.bias'):
            file.write(state[name].astype('<f4').tobytes())
