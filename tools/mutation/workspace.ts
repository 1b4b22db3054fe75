import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Copied folders. Tests only read the other ones, which are linked. */
const COPIED: ReadonlySet<string> = new Set(['src', 'test', 'package.json']);
const LEFT_OUT: ReadonlySet<string> = new Set(['.git', 'quire-data', '.scratch']);
/** Memory limit: a mutant may allocate endlessly. The largest test file needs a fifth. */
const MAX_HEAP_MIB = 1024;
/** A failed test in the output of the TAP reporter. */
const FAILED_TEST = /^\s*not ok /m;
/** Type check of the code without tests. */
const TYPE_CHECK = {
  extends: './tsconfig.json',
  include: ['src'],
  exclude: ['src/**/*.test.ts'],
  // Rechecks only what a mutant can change.
  compilerOptions: { incremental: true, tsBuildInfoFile: './.types.tsbuildinfo' },
};

/** Outcome of one test file. */
export interface TestRun {
  outcome: 'passed' | 'failed' | 'timeout';
  seconds: number;
  output: string;
}

/** A copy of the tree, for planting mutants and running one test file at a time. */
export class Workspace {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #originals = new Map<string, string>();
  #running: ChildProcess | null = null;

  /** `environment`: additional variables for the tests. */
  constructor(root: string, environment: Readonly<Record<string, string>>) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'quire-mutation-')));
    for (const name of readdirSync(root)) {
      if (LEFT_OUT.has(name)) continue;
      if (COPIED.has(name)) cpSync(join(root, name), join(this.folder, name), { recursive: true });
      else symlinkSync(join(root, name), join(this.folder, name));
    }
    writeFileSync(join(this.folder, 'types.tsconfig.json'), JSON.stringify(TYPE_CHECK));
    this.#environment = { ...process.env, ...environment, NODE_COMPILE_CACHE: join(this.folder, '.compiled') };
  }

  /** Returns the text of a file at the time of the copy: the tree may change during a run. */
  original(path: string): string {
    const known = this.#originals.get(path);
    if (known !== undefined) return known;
    const text = readFileSync(join(this.folder, path), 'utf8');
    this.#originals.set(path, text);
    return text;
  }

  /** Replaces a file of the copy. */
  write(path: string, text: string): void {
    this.original(path);
    writeFileSync(join(this.folder, path), text);
  }

  /** Restores a file of the copy. */
  restore(path: string): void {
    writeFileSync(join(this.folder, path), this.original(path));
  }

  /** Runs a test file until it ends, its first test fails, or the timeout. */
  async runTest(path: string, timeoutSeconds: number): Promise<TestRun> {
    return this.#runNode([`--max-old-space-size=${MAX_HEAP_MIB}`, '--test-reporter=tap', ...this.#imports(), path], {
      timeoutSeconds,
      stopsEarly: true,
    });
  }

  /** Runs a test file to its end with coverage written to `coverageFolder`. */
  async runCovered(path: string, coverageFolder: string, timeoutSeconds: number): Promise<TestRun> {
    // The compile cache makes function coverage imprecise.
    const environment = { NODE_V8_COVERAGE: coverageFolder, NODE_DISABLE_COMPILE_CACHE: '1' };
    return this.#runNode(['--test-reporter=tap', ...this.#imports(), path], { timeoutSeconds, environment });
  }

  /** Whether the type check or the linter rejects the copy: its types, or a floating promise in `path`. */
  async isRejected(path: string): Promise<boolean> {
    const compiler = ['node_modules/typescript/bin/tsc', '--noEmit', '--project', 'types.tsconfig.json'];
    const linter = [
      'node_modules/@biomejs/biome/bin/biome',
      'lint',
      '--vcs-enabled=false',
      '--only=noFloatingPromises',
      path,
    ];
    for (const check of [compiler, linter]) {
      const { outcome } = await this.#runNode(check, { timeoutSeconds: 300 });
      if (outcome === 'failed') return true;
    }
    return false;
  }

  /** Kills the running test file and removes the copy. Idempotent. */
  close(): void {
    this.#kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #imports(): string[] {
    return [`--import=${join(this.folder, 'src/boot/quick-imports.js')}`];
  }

  async #runNode(
    args: readonly string[],
    options: { timeoutSeconds: number; stopsEarly?: boolean; environment?: Record<string, string> },
  ): Promise<TestRun> {
    const temporary = join(this.folder, '.temporary');
    mkdirSync(temporary, { recursive: true });
    const startedAt = performance.now();
    const child = spawn(process.execPath, args, {
      cwd: this.folder,
      env: { ...this.#environment, TMPDIR: temporary, ...options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Own process group, so that child processes of a test end with it.
      detached: true,
    });
    this.#running = child;
    let output = '';
    let outcome: TestRun['outcome'] = 'passed';
    const stop = (as: TestRun['outcome']) => {
      outcome = as;
      this.#kill();
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (options.stopsEarly && outcome === 'passed' && FAILED_TEST.test(output)) stop('failed');
      });
    }
    const timer = setTimeout(() => stop('timeout'), options.timeoutSeconds * 1000);
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    clearTimeout(timer);
    this.#kill();
    this.#running = null;
    rmSync(temporary, { recursive: true, force: true });
    if (outcome === 'passed' && code !== 0) outcome = 'failed';
    return { outcome, seconds: (performance.now() - startedAt) / 1000, output };
  }

  /** Kills the process group of the running test file, if it still exists. */
  #kill(): void {
    const pid = this.#running?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The group has ended already.
    }
  }
}
