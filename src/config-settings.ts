import { Type } from 'typebox';

/** One setting: where it is read from, what it may be, and the sentence of the documentation. */
export interface Setting {
  env: string;
  /** Its key in the configuration file; null where the file cannot hold it. */
  file: string | null;
  schema: object;
  default: string | number | null;
  /** A list is written with commas in the environment and may be a sequence in the file. */
  list?: boolean;
  secret?: boolean;
  description: string;
}

const Text = Type.String({ minLength: 1 });
const HttpUrl = Type.String({ pattern: '^https?://[^\\s/]+' });

/** Every setting there is. The environment wins over the file, the file over the default. */
export const SETTINGS = {
  host: {
    env: 'QUIRE_HOST',
    file: 'host',
    schema: Text,
    default: '127.0.0.1',
    description: 'Address to listen on. `0.0.0.0` or `::` serves other machines too.',
  },
  port: {
    env: 'QUIRE_PORT',
    file: 'port',
    schema: Type.Integer({ minimum: 0, maximum: 65_535 }),
    default: 8080,
    description: 'Port to listen on; `0` picks a free one, and the ready line on stdout says which.',
  },
  dataDir: {
    env: 'QUIRE_DATA_DIR',
    file: 'data_dir',
    schema: Text,
    default: './quire-data',
    description: 'Folder that holds everything embedded: the database and the socket for commands.',
  },
  databaseUrl: {
    env: 'QUIRE_DATABASE_URL',
    file: 'database_url',
    schema: Type.String({ pattern: '^postgres(ql)?://' }),
    default: null,
    secret: true,
    description: 'A PostgreSQL (15 or later) to use instead of the embedded one: `postgres://user:password@host/name`.',
  },
  blobsUrl: {
    env: 'QUIRE_BLOBS_URL',
    file: 'blobs_url',
    schema: Type.String({ pattern: '^s3://[^/?]+' }),
    default: null,
    description:
      "An S3-compatible store for the bytes of files, instead of the folder `blobs` in the data folder: `s3://bucket/prefix?endpoint=https://host&region=name`. Without `endpoint` it is Amazon's; `path_style=false` puts the bucket into the host name of an own endpoint. Credentials come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or wherever else AWS clients look.",
  },
  indexUrl: {
    env: 'QUIRE_INDEX_URL',
    file: 'index_url',
    schema: Type.String({ pattern: '^s3://[^/?]+' }),
    default: null,
    description:
      'A place in an S3-compatible store for the search index, instead of the folder `index` in the data folder: `s3://bucket/prefix?endpoint=https://host&region=name`. Needed when several processes search. Credentials as for the files.',
  },
  bootstrapApiKey: {
    env: 'QUIRE_BOOTSTRAP_API_KEY',
    file: null,
    schema: Type.String({ pattern: '^quire-sk-[A-Za-z0-9_-]{16,200}$' }),
    default: null,
    secret: true,
    description:
      'The first start uses this as its first key instead of inventing one: `quire-sk-` and at least 16 letters, digits, `_` or `-`.',
  },
  upstreamUrl: {
    env: 'QUIRE_UPSTREAM_URL',
    file: 'upstream_url',
    schema: Type.Array(HttpUrl, { minItems: 1 }),
    default: null,
    list: true,
    description:
      'The short way to put one OpenAI-style server (vLLM, SGLang, llama-server, Ollama, TGI) behind every chat and completion model. Several URLs are balanced.',
  },
  upstreamApiKey: {
    env: 'QUIRE_UPSTREAM_API_KEY',
    file: 'upstream_api_key',
    schema: Text,
    default: null,
    secret: true,
    description: 'The bearer key that the upstream asks for, if any.',
  },
  upstreamModel: {
    env: 'QUIRE_UPSTREAM_MODEL',
    file: 'upstream_model',
    schema: Text,
    default: null,
    description: "The upstream's own name of the model. Unset: Quire's model id is sent.",
  },
  memoryLimitMb: {
    env: 'QUIRE_MEMORY_LIMIT_MB',
    file: null,
    schema: Type.Integer({ minimum: 64, maximum: 1_048_576 }),
    default: null,
    description:
      "Memory in MB that Quire plans with: its heaps, caches, document readers and model contexts. It is no bound of the system. Unset: the smallest of the machine's memory and the limits of its cgroups.",
  },
  localThreads: {
    env: 'QUIRE_LOCAL_THREADS',
    file: 'local_threads',
    schema: Type.Integer({ minimum: 1, maximum: 512 }),
    default: null,
    description:
      'Threads that compute each model on this machine. Unset: measured at the first start, and kept in the data folder.',
  },
  localSequences: {
    env: 'QUIRE_LOCAL_SEQUENCES',
    file: 'local_sequences',
    schema: Type.Integer({ minimum: 1, maximum: 256 }),
    default: null,
    description:
      'Answers that each model on this machine computes at once; each takes memory for a whole context. Unset: 1 to 16, by what is measured and by the memory that is free.',
  },
  localCalibration: {
    env: 'QUIRE_LOCAL_CALIBRATION',
    file: 'local_calibration',
    schema: Type.Enum(['first', 'off']),
    default: 'first',
    description:
      'When models on this machine are measured: `first`, at their first start, which then takes some two seconds longer; `off`, never: one thread, and steps and sequences for a small machine.',
  },
  logLevel: {
    env: 'QUIRE_LOG_LEVEL',
    file: 'log_level',
    schema: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    default: 'info',
    description: 'Minimum log level. Logs go to stderr.',
  },
  logFormat: {
    env: 'QUIRE_LOG_FORMAT',
    file: 'log_format',
    schema: Type.Enum(['pretty', 'json']),
    default: null,
    description:
      'Format of the log: `pretty` (human-readable) or `json` (JSON lines). Unset: `pretty` on a terminal, `json` otherwise.',
  },
  secretsKey: {
    env: 'QUIRE_SECRETS_KEY',
    file: null,
    schema: Type.String({ minLength: 32 }),
    default: null,
    secret: true,
    description:
      'What stored credentials of data sources are sealed with: at least 32 random characters, such as of `openssl rand -hex 32`, the same for all processes on one database. Unset: a key that the first start makes, in `secrets.key` in the data folder.',
  },
  corsOrigins: {
    env: 'QUIRE_CORS_ORIGINS',
    file: 'cors_origins',
    schema: Type.Array(Type.String({ pattern: '^(\\*|https?://[^\\s/]+)$' })),
    default: null,
    list: true,
    description: 'Web origins whose pages may call the API from a browser, or `*`. Unset: none.',
  },
  bodyLimitBytes: {
    env: 'QUIRE_BODY_LIMIT',
    file: 'body_limit',
    schema: Type.Integer({ minimum: 1024, maximum: 536_870_912 }),
    default: 67_108_864,
    description:
      'Bytes that a JSON request body may have; at most 16 MiB to 64 MiB with a memory limit below 8 GB, see Memory in operations.md.',
  },
  modelsPull: {
    env: 'QUIRE_MODELS_PULL',
    file: 'models_pull',
    schema: Type.Enum(['auto', 'never']),
    default: 'auto',
    description:
      'Whether the first start fetches a small real chat model in the background, where the hub can be reached, and answers with it once it is there: `auto`. `never`: only `quire models pull` fetches.',
  },
  hubUrl: {
    env: 'QUIRE_HUB_URL',
    file: 'hub_url',
    schema: HttpUrl,
    default: 'https://huggingface.co',
    description: 'The hub that models are pulled from, or a mirror of it.',
  },
  hubToken: {
    env: 'QUIRE_HUB_TOKEN',
    file: 'hub_token',
    schema: Text,
    default: null,
    secret: true,
    description:
      'Token for models that the hub gives to some accounts only. It is sent to `QUIRE_HUB_URL` and to no other server.',
  },
  prefixCacheMegabytes: {
    env: 'QUIRE_PREFIX_CACHE_MB',
    file: 'prefix_cache_mb',
    schema: Type.Integer({ minimum: 0, maximum: 1_048_576 }),
    default: 1024,
    description:
      'Megabytes of computed prompts that each local model keeps in the data folder, so that a prompt that begins as an earlier one is answered sooner, after a restart too. 0: none are kept.',
  },
} as const satisfies Record<string, Setting>;

/** Read from the environment without the prefix, because every program does: proxies for upstreams. */
export const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'] as const;

const Pricing = Type.Object(
  {
    prompt: Type.Number({ minimum: 0 }),
    completion: Type.Number({ minimum: 0 }),
    unit: Type.Enum(['per_1k_tokens', 'per_1m_tokens'], { default: 'per_1k_tokens' }),
  },
  { additionalProperties: false, description: 'Credits per unit; one credit is 1,000,000 micros.' },
);

/** One entry of `models:` in the file: how a model id is answered. */
export const ModelBinding = Type.Object(
  {
    alias: Type.Optional(Type.String({ minLength: 1, description: 'Answer as this other model id does.' })),
    engine: Type.Optional(
      Type.Enum(['bundled', 'local', 'upstream'], {
        description: 'What answers; unset, it follows from `file` or `base_urls`.',
      }),
    ),
    file: Type.Optional(Type.String({ minLength: 1, description: '`local`: path of a GGUF file.' })),
    base_urls: Type.Optional(Type.Array(HttpUrl, { minItems: 1, description: '`upstream`: one server or several.' })),
    upstream_model: Type.Optional(Type.String({ minLength: 1, description: '`upstream`: its own name of the model.' })),
    api_key: Type.Optional(Type.String({ minLength: 1, description: '`upstream`: its bearer key.' })),
    context_length: Type.Optional(
      Type.Integer({
        minimum: 16,
        description: 'Tokens of prompt and answer together; of what embeds or reranks, tokens that are read at once.',
      }),
    ),
    pricing: Type.Optional(Pricing),
  },
  { additionalProperties: false },
);

/** The sections of the file that the environment has no counterpart for. */
export const FileSections = Type.Object({
  models: Type.Optional(Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$' }), ModelBinding)),
});
