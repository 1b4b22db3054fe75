import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { seededUniform } from '../harness/random-numbers.ts';
import { type GgufMetadataValue, TENSOR_TYPE, type TensorPlan, writeGguf } from './gguf-writer.ts';

/** The size and element type of a model of random weights. */
export interface RandomModel {
  name: string;
  width: number;
  layers: number;
  heads: number;
  keyValueHeads: number;
  hiddenWidth: number;
  type: 'f16' | 'q8_0';
  seed: number;
}

const SMALL = { width: 512, layers: 8, heads: 8, keyValueHeads: 4, hiddenWidth: 1408, seed: 1 };
const LARGE = { width: 1024, layers: 22, heads: 16, keyValueHeads: 8, hiddenWidth: 2816, seed: 1 };

/** Models of the benchmarks by their `--model` name. */
export const RANDOM_MODELS: Readonly<Record<string, RandomModel>> = {
  '40m-f16': { name: '40m-f16', ...SMALL, type: 'f16' },
  '40m-q8': { name: '40m-q8', ...SMALL, type: 'q8_0' },
  '300m-f16': { name: '300m-f16', ...LARGE, type: 'f16' },
  '300m-q8': { name: '300m-q8', ...LARGE, type: 'q8_0' },
};

const CONTEXT_TOKENS = 32_768;
const VOCABULARY_TOKENS = 32_000;
const BYTES_OF_TYPE = { f16: 2, q8_0: 34 / 32 };
const Q8_BLOCK = 32;
const TOKEN_TYPE = { normal: 1, unknown: 2, control: 3, byte: 6 };
/**
 * Scale of queries and keys, larger than usual: attention concentrates on few tokens, so the text depends on the
 * prompt.
 */
const ATTENTION_GAIN = 2;
/** Random numbers drawn once and shuffled, because drawing each would take minutes. */
const DEALT_NUMBERS = 1 << 16;
const PIECE_ROWS = 1024;

/**
 * Writes a llama model of random weights into `folder`, unless it is there, and gives its path. Its letters are one
 * token each; bytes and control tokens (the end of the text too) have an embedding of zeros, which is also their row of
 * the output, so that greedy decoding never takes them: of 32,000 logits the largest is far above zero.
 */
export async function randomModelFile(folder: string, model: RandomModel): Promise<string> {
  const file = join(folder, `random-${model.name}.gguf`);
  if (existsSync(file)) return file;
  await mkdir(folder, { recursive: true });
  const pieces = vocabulary();
  await writeGguf(file, metadata(model, pieces), tensors(model, pieces));
  return file;
}

interface Piece {
  text: string;
  type: number;
}

function vocabulary(): Piece[] {
  const pieces: Piece[] = [
    { text: '<unk>', type: TOKEN_TYPE.unknown },
    { text: '<s>', type: TOKEN_TYPE.control },
    { text: '</s>', type: TOKEN_TYPE.control },
  ];
  for (let byte = 0; byte < 256; byte++) {
    pieces.push({ text: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`, type: TOKEN_TYPE.byte });
  }
  for (let code = 33; code < 127; code++) pieces.push({ text: String.fromCharCode(code), type: TOKEN_TYPE.normal });
  // No two of their characters form a token, so the tokenizer never produces them; only the model generates them.
  for (let word = 0; pieces.length < VOCABULARY_TOKENS; word++) {
    pieces.push({ text: `▁${word.toString(26).padStart(5, 'q')}`, type: TOKEN_TYPE.normal });
  }
  return pieces;
}

function metadata(model: RandomModel, pieces: readonly Piece[]): Map<string, GgufMetadataValue> {
  const u32 = (value: number): GgufMetadataValue => ({ type: 'u32', value });
  const text = (value: string): GgufMetadataValue => ({ type: 'text', value });
  return new Map<string, GgufMetadataValue>([
    ['general.architecture', text('llama')],
    ['general.name', text(`random ${model.name}`)],
    ['general.file_type', u32(model.type === 'f16' ? 1 : 7)],
    ['llama.context_length', u32(CONTEXT_TOKENS)],
    ['llama.embedding_length', u32(model.width)],
    ['llama.block_count', u32(model.layers)],
    ['llama.feed_forward_length', u32(model.hiddenWidth)],
    ['llama.attention.head_count', u32(model.heads)],
    ['llama.attention.head_count_kv', u32(model.keyValueHeads)],
    ['llama.attention.layer_norm_rms_epsilon', { type: 'f32', value: 1e-5 }],
    ['llama.rope.dimension_count', u32(model.width / model.heads)],
    ['llama.rope.freq_base', { type: 'f32', value: 500_000 }],
    ['llama.vocab_size', u32(pieces.length)],
    ['tokenizer.ggml.model', text('llama')],
    ['tokenizer.ggml.tokens', { type: 'list', of: 'text', value: pieces.map((piece) => piece.text) }],
    ['tokenizer.ggml.scores', { type: 'list', of: 'f32', value: pieces.map((_, token) => -token) }],
    ['tokenizer.ggml.token_type', { type: 'list', of: 'i32', value: pieces.map((piece) => piece.type) }],
    ['tokenizer.ggml.unknown_token_id', u32(0)],
    ['tokenizer.ggml.bos_token_id', u32(1)],
    ['tokenizer.ggml.eos_token_id', u32(2)],
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: true }],
    ['tokenizer.ggml.add_space_prefix', { type: 'bool', value: false }],
  ]);
}

function tensors(model: RandomModel, pieces: readonly Piece[]): TensorPlan[] {
  const { width, hiddenWidth, layers, heads, keyValueHeads } = model;
  const keyValueWidth = (width / heads) * keyValueHeads;
  const deal = dealer(model);
  const silent = new Set(pieces.flatMap((piece, token) => (piece.type === TOKEN_TYPE.normal ? [] : [token])));
  const usual = 1 / Math.sqrt(width);
  const plans = [
    deal('token_embd.weight', [width, pieces.length], 1, silent),
    // The signs prevent a token from being its own most likely successor, because input and output share one matrix.
    vector('output_norm.weight', width, seededUniform(model.seed)),
  ];
  for (let layer = 0; layer < layers; layer++) {
    const name = (part: string): string => `blk.${layer}.${part}.weight`;
    plans.push(
      vector(name('attn_norm'), width),
      deal(name('attn_q'), [width, width], usual * ATTENTION_GAIN),
      deal(name('attn_k'), [width, keyValueWidth], usual * ATTENTION_GAIN),
      deal(name('attn_v'), [width, keyValueWidth], usual),
      deal(name('attn_output'), [width, width], usual),
      vector(name('ffn_norm'), width),
      deal(name('ffn_gate'), [width, hiddenWidth], usual),
      deal(name('ffn_up'), [width, hiddenWidth], usual),
      deal(name('ffn_down'), [hiddenWidth, width], 1 / Math.sqrt(hiddenWidth)),
    );
  }
  return plans;
}

/** Ones, or ones of random sign. */
function vector(name: string, width: number, signs?: () => number): TensorPlan {
  const values = Float32Array.from({ length: width }, () => (signs === undefined || signs() < 0.5 ? 1 : -1));
  const data = new Uint8Array(values.buffer);
  return { name, shape: [width], type: TENSOR_TYPE.f32, bytes: data.length, pieces: () => [data] };
}

/** Plans matrices of normally distributed numbers with the given deviation; rows in `silent` are zeros. */
function dealer(
  model: RandomModel,
): (name: string, shape: [number, number], deviation: number, silent?: ReadonlySet<number>) => TensorPlan {
  const uniform = seededUniform(model.seed);
  const normals = Float32Array.from({ length: DEALT_NUMBERS }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    return radius * Math.cos(2 * Math.PI * uniform());
  });
  let tensorSeed = model.seed;
  return (name, size, deviation, silent = new Set()) => {
    tensorSeed += 1;
    const seed = tensorSeed;
    const [columns, rows] = size;
    return {
      name,
      shape: size,
      type: TENSOR_TYPE[model.type],
      bytes: columns * rows * BYTES_OF_TYPE[model.type],
      pieces: () => matrix({ columns, rows, deviation, silent, normals, seed, type: model.type }),
    };
  };
}

interface Matrix {
  columns: number;
  rows: number;
  deviation: number;
  silent: ReadonlySet<number>;
  normals: Float32Array;
  seed: number;
  type: 'f16' | 'q8_0';
}

function* matrix({ columns, rows, deviation, silent, normals, seed, type }: Matrix): Generator<Uint8Array> {
  const fill = type === 'f16' ? f16Filler(normals, deviation) : q8Filler(normals, deviation);
  const rowBytes = columns * BYTES_OF_TYPE[type];
  let state = Math.imul(seed, 0x9e3779b1) | 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & (DEALT_NUMBERS - 1);
  };
  for (let first = 0; first < rows; first += PIECE_ROWS) {
    const count = Math.min(PIECE_ROWS, rows - first);
    const piece = new Uint8Array(count * rowBytes);
    fill(piece, next);
    for (let row = 0; row < count; row++) {
      if (silent.has(first + row)) piece.fill(0, row * rowBytes, (row + 1) * rowBytes);
    }
    yield piece;
  }
}

type Filler = (piece: Uint8Array, next: () => number) => void;

function f16Filler(normals: Float32Array, deviation: number): Filler {
  const halves = new Uint16Array(Float16Array.from(normals, (value) => value * deviation).buffer);
  return (piece, next) => {
    const view = new Uint16Array(piece.buffer);
    for (let i = 0; i < view.length; i++) view[i] = halves[next()] ?? 0;
  };
}

/** Blocks of 32 signed bytes behind a half-precision scale. One scale for all: 127 is four deviations. */
function q8Filler(normals: Float32Array, deviation: number): Filler {
  const scale = new Uint8Array(Float16Array.of((4 * deviation) / 127).buffer);
  const bytes = Int8Array.from(normals, (value) => Math.max(-127, Math.min(127, Math.round((value / 4) * 127))));
  return (piece, next) => {
    for (let at = 0; at < piece.length; at += 2 + Q8_BLOCK) {
      piece.set(scale, at);
      for (let i = 0; i < Q8_BLOCK; i++) piece[at + 2 + i] = bytes[next()] ?? 0;
    }
  };
}
