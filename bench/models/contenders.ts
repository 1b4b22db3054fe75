import { join } from 'node:path';
import { type RunningChild, startChild } from '../harness/child-process.ts';
import { startQuire } from '../harness/quire-process.ts';
import { ENCODERS, encoderFile } from './encoder.ts';
import { installOnnxRuntime } from './onnx-runtime.ts';
import type { Task } from './workloads.ts';

const LOAD_LIMIT_MS = 180_000;
const SERVER = join(import.meta.dirname, 'encoder-server.ts');

/** A process that answers the routes that are measured. */
export interface ModelContender {
  name: string;
  origin: string;
  headers: Readonly<Record<string, string>>;
  tasks: readonly Task[];
  pid: number;
  stop(): Promise<void>;
}

/** Quire as a user starts it, with the models that come with it. */
export async function startQuireContender(): Promise<ModelContender> {
  const quire = await startQuire(undefined, [], { QUIRE_LOCAL_CALIBRATION: 'off' });
  const headers = { authorization: `Bearer ${quire.apiKey}` };
  return { ...quire, name: 'Quire', headers, tasks: ['embeddings', 'rerank', 'moderations'] };
}

/**
 * An encoder in ONNX Runtime, of a public model's size, its weights random, in `folder`. The smaller one stands for a
 * cross-encoder and for a classifier too, which are the same network with another last row.
 */
export async function startEncoder(
  folder: string,
  name: keyof typeof ENCODERS,
  threads: number,
): Promise<ModelContender> {
  await installOnnxRuntime();
  const { layers, width, like } = ENCODERS[name];
  const child: RunningChild = await startChild({
    name: `ONNX Runtime, ${like}`,
    nodeArgs: [SERVER, await encoderFile(folder, name), String(threads)],
    ready: /listening on (http:\/\/127\.0\.0\.1:\d+)/,
    readyLimitMs: LOAD_LIMIT_MS,
  });
  const tasks: Task[] = name === 'bge-small' ? ['embeddings'] : ['embeddings', 'rerank', 'moderations'];
  return { ...child, name: `ONNX ${layers} x ${width}`, headers: {}, tasks };
}
