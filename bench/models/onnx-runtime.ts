import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The version measured. */
export const ONNX_RUNTIME_VERSION = '1.30.0';

const FOLDER = join(import.meta.dirname, `../../.scratch/onnxruntime-${ONNX_RUNTIME_VERSION}`);
const INSTALL_LIMIT_MS = 600_000;

/** The used part of the package's interface. */
export interface OnnxRuntime {
  InferenceSession: { create(file: string, options: object): Promise<OnnxSession> };
  Tensor: new (type: 'int64', data: BigInt64Array, shape: readonly number[]) => object;
}

/** A loaded model. */
export interface OnnxSession {
  run(inputs: Record<string, object>): Promise<Record<string, { data: Float32Array }>>;
}

/**
 * Installs ONNX Runtime into an ignored folder unless it is installed: 290 MB, with libraries of all systems. Only this
 * benchmark needs it. Rejects when npm cannot fetch it.
 */
export async function installOnnxRuntime(): Promise<void> {
  const manifest = JSON.stringify({ private: true, dependencies: { 'onnxruntime-node': ONNX_RUNTIME_VERSION } });
  // Written again after the install, so that an incomplete install is detected.
  const marker = join(FOLDER, 'installed.json');
  if ((await readFile(marker, 'utf8').catch(() => '')) === manifest) return;
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), manifest);
  // Without scripts: the only one fetches libraries for graphics cards.
  const flags = ['--prefix', FOLDER, '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['install', ...flags], { cwd: FOLDER, timeout: INSTALL_LIMIT_MS });
  await writeFile(marker, manifest);
}

/** The installed package. */
export function loadOnnxRuntime(): OnnxRuntime {
  return createRequire(join(FOLDER, 'package.json'))('onnxruntime-node') as OnnxRuntime;
}
