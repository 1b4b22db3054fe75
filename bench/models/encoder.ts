import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { uniformNumbers } from '../engine/random-numbers.ts';
import { type GraphNode, onnxFile, type Weight } from './onnx-writer.ts';

/** An encoder of BERT's architecture with random weights: the speed of a public model of that size. */
export interface EncoderSize {
  /** The public model that has this size. */
  like: string;
  layers: number;
  width: number;
  heads: number;
}

/** The yardsticks: what most self-hosted services embed English with on a processor, and the small cross-encoder. */
export const ENCODERS = {
  'bge-small': { like: 'bge-small-en-v1.5', layers: 12, width: 384, heads: 12 },
  'minilm-l6': { like: 'ms-marco-MiniLM-L-6-v2', layers: 6, width: 384, heads: 12 },
} as const satisfies Record<string, EncoderSize>;

/** Tokens that an encoder can read; a longer text is cut, as with its public counterpart. */
export const MAX_TOKENS = 512;
/** Pieces of BERT's English vocabulary. */
export const VOCABULARY = 30_522;

const SEED = 1;
const MICROSOFT = 'com.microsoft';
const NORM = { epsilon: { float: 1e-12 } };

/**
 * Writes the encoder into `folder`, unless it is there, and gives its path. Inputs: `tokens` and `places`, int64 (texts x
 * tokens); outputs: `vector` (texts x width, the mean over the tokens) and `score` (texts x 1).
 */
export async function encoderFile(folder: string, name: keyof typeof ENCODERS): Promise<string> {
  const file = join(folder, `random-${name}.onnx`);
  if (existsSync(file)) return file;
  await mkdir(folder, { recursive: true });
  await writeFile(`${file}.part`, encoder(ENCODERS[name]));
  await rename(`${file}.part`, file);
  return file;
}

function encoder({ layers, width, heads }: EncoderSize): Buffer {
  const weights: Weight[] = [];
  const nodes: GraphNode[] = [];
  const uniform = uniformNumbers(SEED);
  const weight = (name: string, ...shape: number[]): string => {
    const spread = 2 * Math.sqrt(3 / (shape[0] ?? 1));
    const size = shape.reduce((product, each) => product * each, 1);
    weights.push({ name, shape, values: Float32Array.from({ length: size }, () => (uniform() - 0.5) * spread) });
    return name;
  };
  const constant = (name: string, size: number, value: number): string => {
    weights.push({ name, shape: [size], values: new Float32Array(size).fill(value) });
    return name;
  };
  const norm = (name: string): string[] => [constant(`${name}.gain`, width, 1), constant(`${name}.shift`, width, 0)];
  const add = (operator: string, output: string, inputs: readonly string[], more: Partial<GraphNode> = {}): string => {
    nodes.push({ operator, output, inputs, ...more });
    return output;
  };
  const own = { domain: MICROSOFT };

  const embedded = add('Add', 'embedded', [
    add('Gather', 'token', [weight('tokens.weight', VOCABULARY, width), 'tokens']),
    add('Gather', 'place', [weight('places.weight', MAX_TOKENS, width), 'places']),
  ]);
  let x = add('LayerNormalization', 'x', [embedded, ...norm('embedded')], {
    attributes: { ...NORM, axis: { int: -1 } },
  });
  for (let layer = 0; layer < layers; layer++) {
    const at = (part: string): string => `${layer}.${part}`;
    const seen = add(
      'Attention',
      at('seen'),
      [x, weight(at('qkv'), width, 3 * width), constant(at('qkv.bias'), 3 * width, 0)],
      {
        ...own,
        attributes: { num_heads: { int: heads } },
      },
    );
    const mixed = add('MatMul', at('mixed'), [seen, weight(at('out'), width, width)]);
    const first = add(
      'SkipLayerNormalization',
      at('first'),
      [x, mixed, ...norm(at('first')), constant(at('out.bias'), width, 0)],
      {
        ...own,
        attributes: NORM,
      },
    );
    const wide = add('MatMul', at('wide'), [first, weight(at('up'), width, 4 * width)]);
    const active = add('BiasGelu', at('active'), [wide, constant(at('up.bias'), 4 * width, 0)], own);
    const narrow = add('MatMul', at('narrow'), [active, weight(at('down'), 4 * width, width)]);
    x = add(
      'SkipLayerNormalization',
      at('second'),
      [first, narrow, ...norm(at('second')), constant(at('down.bias'), width, 0)],
      {
        ...own,
        attributes: NORM,
      },
    );
  }
  add('ReduceMean', 'vector', [x], { attributes: { axes: { ints: [1] }, keepdims: { int: 0 } } });
  add('MatMul', 'score', ['vector', weight('judge', width, 1)]);
  return onnxFile({
    nodes,
    weights,
    inputs: ['tokens', 'places'].map((name) => ({ name, type: 'int64', shape: ['texts', 'length'] })),
    outputs: [
      { name: 'vector', type: 'float', shape: ['texts', width] },
      { name: 'score', type: 'float', shape: ['texts', 1] },
    ],
  });
}
