import { Type } from 'typebox';
import { parseJobs } from '../lib/parse-jobs.ts';
import { parseProcesses } from '../lib/parse-processes.ts';

/** Settings of a process: its work, its end and its memory. */
export const PROCESS_SETTINGS = {
  apiProcesses: {
    env: 'QUIRE_API_PROCESSES',
    file: 'api_processes',
    schema: Type.Unsafe<string>({ type: ['integer', 'string'] }),
    default: '1',
    parse: parseProcesses,
    description:
      'Processes of `quire serve` and `quire api` that serve the API on one port, to use several cores: a number from 1 to 64, or `auto` for one per core. Above 1, a further process has the embedded database, the models that run on this machine and the background work. Needs Linux or FreeBSD.',
  },
  drainDelay: {
    env: 'QUIRE_DRAIN_DELAY',
    file: 'drain_delay',
    schema: Type.Integer({ minimum: 0, maximum: 600 }),
    default: 0,
    description:
      'Seconds between SIGTERM and the moment when no new request is accepted. `/readyz` answers 503 from the signal on. Behind a load balancer: longer than the time in which its health checks find that.',
  },
  workerPort: {
    env: 'QUIRE_WORKER_PORT',
    file: 'worker_port',
    schema: Type.Integer({ minimum: 0, maximum: 65_535 }),
    default: null,
    description:
      'Port of `quire worker` for `/healthz`, `/readyz`, `/version` and `/metrics`, on the address `QUIRE_HOST`. `0` picks a free port, reported by the ready line. Unset: a worker does not listen.',
  },
  metricsToken: {
    env: 'QUIRE_METRICS_TOKEN',
    file: null,
    schema: Type.String({ minLength: 16, maxLength: 1000 }),
    default: null,
    secret: true,
    description:
      'Bearer token that may read `/metrics` from other machines, and nothing else: at least 16 random characters. Unset: they need a key with the scope `admin`.',
  },
  jobs: {
    env: 'QUIRE_JOBS',
    file: 'jobs',
    schema: Type.String({ minLength: 1 }),
    default: null,
    parse: parseJobs,
    description:
      'Kinds of jobs that this process runs, each with its number of concurrent jobs, such as `ingestion:4,batch:2`. Kinds: `ingestion`, `batch`, `response` (background responses), `evaluation`. Kinds that are absent are left to other processes. The number of `batch` bounds validations and finalizations; `QUIRE_BATCH_CONCURRENCY` bounds lines. Unset: all kinds.',
  },
  batchConcurrency: {
    env: 'QUIRE_BATCH_CONCURRENCY',
    file: 'batch_concurrency',
    schema: Type.Integer({ minimum: 1, maximum: 1024 }),
    default: 16,
    description:
      'Batch lines that each process runs at the same time; all processes run lines of every batch. Raise it for upstream servers that batch many requests; local models run at most as many as they have slots, less one.',
  },
  memoryLimitMb: {
    env: 'QUIRE_MEMORY_LIMIT_MB',
    file: null,
    schema: Type.Integer({ minimum: 64, maximum: 1_048_576 }),
    default: null,
    description:
      "Memory in MB that heaps, caches, document readers and model contexts are sized for. It is not enforced. Unset: the machine's memory or the smallest cgroup limit.",
  },
} as const;
