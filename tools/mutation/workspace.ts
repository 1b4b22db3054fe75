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

/** What is copied; everything else of the tree is read only by the tests, so the copy links to it. */
const COPIED: ReadonlySet<string> = new Set(['src', 'test', 'package.json']);
const LEFT_OUT: ReadonlySet<string> = new Set(['.git', 'quire-data', '.scratch']);
/** A mutant may allocate without end; the largest test file needs a fifth of this. */
const MAX_HEAP_MIB = 1024;
/** A test that failed, in any group, as the TAP reporter writes it when the test ends. */
const FAILED_TEST = /^\s*not ok /m;
/** Checks what a mutant may break: the code without the tests, which a run would show anyway. */
const TYPE_CHECK = {
  extends: './tsconfig.json',
  include: ['src'],
  exclude: ['src/**/*.test.ts'],
  // Only what a mutant can have changed is checked again.
  compilerOptions: { incremental: true, tsBuildInfoFile: './.types.tsbuildinfo' },
};

/** What came of one test file. */
export interface TestRun {
  outcome: 'passed' | 'failed' | 'timeout';
  seconds: number;
  output: string;
}

/** A copy of the tree, in which mutants are planted and test files run one at a time. */
export class Workspace {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #originals = new Map<string, string>();
  #running: ChildProcess | null = null;

  /** `environment`: what the tests find in theirs beside this process's own. */
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

  /** The text of a file as it was copied: the tree itself may change during a run. */
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

  /** Takes back what was written to a file. */
  restore(path: string): void {
    writeFileSync(join(this.folder, path), this.original(path));
  }

  /** Runs a test file until it ends, fails its first test or reaches the timeout. */
  async runTest(path: string, timeoutSeconds: number): Promise<TestRun> {
    return this.#runNode([`--max-old-space-size=${MAX_HEAP_MIB}`, '--test-reporter=tap', ...this.#imports(), path], {
      timeoutSeconds,
      stopsEarly: true,
    });
  }

  /** Runs a test file to its end; its processes write what they executed into `coverageFolder`. */
  async runCovered(path: string, coverageFolder: string, timeoutSeconds: number): Promise<TestRun> {
    // Functions from the compile cache are not counted precisely.
    const environment = { NODE_V8_COVERAGE: coverageFolder, NODE_DISABLE_COMPILE_CACHE: '1' };
    return this.#runNode(['--test-reporter=tap', ...this.#imports(), path], { timeoutSeconds, environment });
  }

  /** Whether `npm run check` rejects the copy as it is now: its types, or a promise in `path` that nobody waits for. */
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

  /** Ends what runs and removes the copy. May be called twice. */
  close(): void {
    this.#kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #imports(): string[] {
    return [`--import=${join(this.folder, 'src/quick-imports.js')}`];
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
      // A process group of its own: what a test has started ends with it.
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

  /** Ends the process group of the running test file, if there is any process of it left. */
  #kill(): void {
    const pid = this.#running?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The whole group has ended.
    }
  }
}
