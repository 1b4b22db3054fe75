import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seededUniform } from '../harness/random-numbers.ts';
import { type GraphNode, onnxFile, type Weight } from './onnx-writer.ts';

/** An encoder of BERT's architecture with random weights: the speed of a public model of that size. */
export interface EncoderSize {
  /** The public model that has this size. */
  like: string;
  layers: number;
  width: number;
  heads: number;
}

/** References: the usual self-hosted English embedding model on CPUs, and the small cross-encoder. */
export const ENCODERS = {
  'bge-small': { like: 'bge-small-en-v1.5', layers: 12, width: 384, heads: 12 },
  'minilm-l6': { like: 'ms-marco-MiniLM-L-6-v2', layers: 6, width: 384, heads: 12 },
} as const satisfies Record<string, EncoderSize>;

/** Tokens that an encoder can read; a longer text is cut, as with its public counterpart. */
export const MAX_TOKENS = 512;
/** Pieces of BERT's English vocabulary. */
export const VOCABULARY = 30_522;

const SEED = 1;
const FUSED = { domain: 'com.microsoft' };
const NORM = { epsilon: { float: 1e-12 } };

/**
 * Writes the encoder into `folder` unless it exists; returns its path. Inputs: `tokens` and `places`, int64 (texts x
 * tokens); outputs:
 * `vector` (texts x width, mean over tokens) and `score` (texts x 1).
 */
export async function encoderFile(folder: string, name: keyof typeof ENCODERS): Promise<string> {
  const file = join(folder, `random-${name}.onnx`);
  if (existsSync(file)) return file;
  await mkdir(folder, { recursive: true });
  await writeFile(`${file}.part`, encoder(ENCODERS[name]));
  await rename(`${file}.part`, file);
  return file;
}

function encoder(size: EncoderSize): Buffer {
  const { width } = size;
  const builder = new Builder(width);
  const embedded = builder.add('Add', 'embedded', [
    builder.add('Gather', 'token', [builder.weight('tokens.weight', VOCABULARY, width), 'tokens']),
    builder.add('Gather', 'place', [builder.weight('places.weight', MAX_TOKENS, width), 'places']),
  ]);
  let x = builder.add('LayerNormalization', 'x', [embedded, ...builder.norm('embedded')], {
    attributes: { ...NORM, axis: { int: -1 } },
  });
  for (let layer = 0; layer < size.layers; layer++) x = addLayer(builder, size, `${layer}.`, x);
  builder.add('ReduceMean', 'vector', [x], { attributes: { axes: { ints: [1] }, keepdims: { int: 0 } } });
  builder.add('MatMul', 'score', ['vector', builder.weight('judge', width, 1)]);
  return onnxFile({
    nodes: builder.nodes,
    weights: builder.weights,
    inputs: ['tokens', 'places'].map((name) => ({ name, type: 'int64', shape: ['texts', 'length'] })),
    outputs: [
      { name: 'vector', type: 'float', shape: ['texts', width] },
      { name: 'score', type: 'float', shape: ['texts', 1] },
    ],
  });
}

/** Adds attention and the feed-forward layer with residual connections and norms; returns the name of the output. */
function addLayer(builder: Builder, { width, heads }: EncoderSize, at: string, x: string): string {
  const qkv = [builder.weight(`${at}qkv`, width, 3 * width), builder.constant(`${at}qkv.bias`, 3 * width, 0)];
  const attributes = { num_heads: { int: heads } };
  const seen = builder.add('Attention', `${at}seen`, [x, ...qkv], { ...FUSED, attributes });
  const mixed = builder.add('MatMul', `${at}mixed`, [seen, builder.weight(`${at}out`, width, width)]);
  const first = builder.shortcut(`${at}first`, x, mixed);
  const wide = builder.add('MatMul', `${at}wide`, [first, builder.weight(`${at}up`, width, 4 * width)]);
  const active = builder.add('BiasGelu', `${at}active`, [wide, builder.constant(`${at}up.bias`, 4 * width, 0)], FUSED);
  const narrow = builder.add('MatMul', `${at}narrow`, [active, builder.weight(`${at}down`, 4 * width, width)]);
  return builder.shortcut(`${at}second`, first, narrow);
}

/** Collects nodes and weights; every method returns the name of the added output. */
class Builder {
  readonly nodes: GraphNode[] = [];
  readonly weights: Weight[] = [];
  readonly #width: number;
  readonly #uniform = seededUniform(SEED);

  constructor(width: number) {
    this.#width = width;
  }

  add(operator: string, output: string, inputs: readonly string[], more: Partial<GraphNode> = {}): string {
    this.nodes.push({ operator, output, inputs, ...more });
    return output;
  }

  weight(name: string, rows: number, columns: number): string {
    const spread = 2 * Math.sqrt(3 / rows);
    const values = Float32Array.from({ length: rows * columns }, () => (this.#uniform() - 0.5) * spread);
    this.weights.push({ name, shape: [rows, columns], values });
    return name;
  }

  constant(name: string, size: number, value: number): string {
    this.weights.push({ name, shape: [size], values: new Float32Array(size).fill(value) });
    return name;
  }

  /** The gain and the shift of a norm. */
  norm(name: string): string[] {
    return [this.constant(`${name}.gain`, this.#width, 1), this.constant(`${name}.shift`, this.#width, 0)];
  }

  /** Residual connection with normalization. */
  shortcut(name: string, before: string, made: string): string {
    const bias = this.constant(`${name}.bias`, this.#width, 0);
    return this.add('SkipLayerNormalization', name, [before, made, ...this.norm(name), bias], {
      ...FUSED,
      attributes: NORM,
    });
  }
}
