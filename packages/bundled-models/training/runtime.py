"""Calls the code of the service by small TypeScript commands: training reads texts exactly as the service does."""
import json
import os
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def node(script, *arguments):
    """Runs a script of this folder; the variable NODE names a Node of version 24 or later."""
    command = [os.environ.get('NODE', 'node'), os.path.join(HERE, script), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def write_texts(texts, path):
    """A JSON string a line."""
    with open(path, 'w') as file:
        file.writelines(json.dumps(text) + '\n' for text in texts)


def embedder(mode, texts, dtype, *arguments):
    """Runs a mode of `embedder/reader.ts` on texts. Returns the arrays that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'texts')
        write_texts(texts, path)
        node('embedder/reader.ts', mode, path, *arguments)
        return [np.fromfile(f'{path}.{part}', kind) for part, kind in dtype.items()]


def embed(texts, model):
    """Unit vectors (texts, dimensions) by the weights file `model`."""
    vectors, = embedder('embed', texts, {'vectors': np.float32}, model)
    return vectors.reshape(len(texts), -1)
