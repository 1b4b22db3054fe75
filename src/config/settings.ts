import { type Static, type TSchema, Type } from 'typebox';
import { requirePrivateHosts } from '../lib/address-policy.ts';
import { parseRateLimits } from '../lib/parse-rate-limits.ts';
import { parseTrustedProxies } from '../lib/parse-trusted-proxies.ts';
import { BACKUP_SETTINGS } from './backup-settings.ts';
import { CLIENT_DEFAULTS } from './defaults.ts';
import { MAIL_SETTINGS } from './mail-settings.ts';
import { PROCESS_SETTINGS } from './process-settings.ts';
import { SIGN_IN_SETTINGS } from './sign-in.ts';

/** Declaration of a setting: its sources, schema, default and documentation. */
export interface Setting {
  env: string;
  /** Key in the configuration file; null when the file cannot contain it. */
  file: string | null;
  schema: object;
  default: string | number | null;
  /** Lists are comma-separated in the environment, and may be sequences in the file. */
  list?: boolean;
  secret?: boolean;
  /** Parses a valid text or list. Throws an Error whose message completes the sentence "it ...". */
  parse?(value: string | readonly string[]): unknown;
  /** Throws an Error as `parse` does for a value that the schema cannot exclude. */
  check?(value: string | readonly string[]): void;
  description: string;
}

const Text = Type.String({ minLength: 1 });
/** Schema of an http or https URL. */
export const BaseUrl = Type.String({ pattern: '^https?://[^\\s/]+' });

/** APIs that upstreams speak. */
export const UPSTREAM_PROTOCOLS = ['openai', 'anthropic'] as const;

/** Fields that this service sets or checks itself, so that no request may replace them. */
const OWN_UPSTREAM_FIELDS: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'prompt', 'suffix', 'echo', 'stream', 'stream_options', 'n', 'best_of', 'stop', 'seed'],
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty'],
  ...['logit_bias', 'logprobs', 'top_logprobs', 'response_format', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['functions', 'function_call', 'cache_salt', 'priority', 'knowledge_bases', 'input', 'instructions', 'text'],
  ...['reasoning', 'reasoning_effort', 'verbosity', 'chat_template_kwargs'],
]);

function rejectOwnFields(names: readonly string[]): void {
  const own = names.find((name) => OWN_UPSTREAM_FIELDS.has(name));
  if (own !== undefined) throw new Error(`must not contain '${own}', which Quire handles itself`);
}

/** All settings. Environment variables override the file, which overrides the defaults. */
export const SETTINGS = {
  host: {
    env: 'QUIRE_HOST',
    file: 'host',
    schema: Text,
    default: CLIENT_DEFAULTS.host,
    description: 'Address to listen on. `0.0.0.0` or `::` serves other machines too.',
  },
  port: {
    env: 'QUIRE_PORT',
    file: 'port',
    schema: Type.Integer({ minimum: 0, maximum: 65_535 }),
    default: CLIENT_DEFAULTS.port,
    description: 'Port to listen on; `0` picks a free port, reported by the ready line on stdout.',
  },
  ...PROCESS_SETTINGS,
  dataDir: {
    env: 'QUIRE_DATA_DIR',
    file: 'data_dir',
    schema: Text,
    default: CLIENT_DEFAULTS.dataDir,
    description: 'Folder of all embedded state: database, files, search index, models and the command socket.',
  },
  databaseUrl: {
    env: 'QUIRE_DATABASE_URL',
    file: 'database_url',
    schema: Type.String({ pattern: '^postgres(ql)?://' }),
    default: null,
    secret: true,
    description: 'PostgreSQL (15 or later) to use instead of the embedded one: `postgres://user:password@host/name`.',
  },
  blobsUrl: {
    env: 'QUIRE_BLOBS_URL',
    file: 'blobs_url',
    schema: Type.String({ pattern: '^s3://[^/?]+' }),
    default: null,
    description:
      'S3-compatible store for uploaded files, instead of the folder `blobs` in the data folder: `s3://bucket/prefix?endpoint=https://host&region=name`. Without `endpoint`: AWS. `path_style=false` puts the bucket into the host name of the endpoint. Credentials come from the default credential chain of AWS, such as `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.',
  },
  indexUrl: {
    env: 'QUIRE_INDEX_URL',
    file: 'index_url',
    schema: Type.String({ pattern: '^s3://[^/?]+' }),
    default: null,
    description:
      'S3-compatible store for the search index, instead of the folder `index` in the data folder: `s3://bucket/prefix?endpoint=https://host&region=name`. Required when several processes search. Credentials as for `QUIRE_BLOBS_URL`.',
  },
  ...BACKUP_SETTINGS,
  bootstrapApiKey: {
    env: 'QUIRE_BOOTSTRAP_API_KEY',
    file: null,
    schema: Type.String({ pattern: '^quire-sk-[A-Za-z0-9_-]{16,200}$' }),
    default: null,
    secret: true,
    description:
      'API key that the first start creates instead of a generated one: `quire-sk-` and at least 16 letters, digits, `_` or `-`.',
  },
  upstreamUrl: {
    env: 'QUIRE_UPSTREAM_URL',
    file: 'upstream_url',
    schema: Type.Array(BaseUrl, { minItems: 1 }),
    default: null,
    list: true,
    description:
      "Base URL of an OpenAI-compatible server (vLLM, SGLang, llama-server, Ollama, TGI), or one of Anthropic's Messages (`QUIRE_UPSTREAM_PROTOCOL`), that serves every chat and completion model. Several URLs are load-balanced: prompts by prefix affinity within a bound of the load, other requests by least outstanding requests.",
  },
  upstreamApiKey: {
    env: 'QUIRE_UPSTREAM_API_KEY',
    file: 'upstream_api_key',
    schema: Text,
    default: null,
    secret: true,
    description: 'Key of the upstream.',
  },
  upstreamModel: {
    env: 'QUIRE_UPSTREAM_MODEL',
    file: 'upstream_model',
    schema: Text,
    default: null,
    description: "Model name sent to the upstream. Unset: Quire's model id.",
  },
  upstreamProtocol: {
    env: 'QUIRE_UPSTREAM_PROTOCOL',
    file: 'upstream_protocol',
    schema: Type.Enum(UPSTREAM_PROTOCOLS),
    default: 'openai',
    description: "API that the upstream speaks: OpenAI's, or Anthropic's Messages.",
  },
  upstreamParameters: {
    env: 'QUIRE_UPSTREAM_PARAMETERS',
    file: 'upstream_parameters',
    schema: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }), { maxItems: 64 }),
    check: rejectOwnFields,
    default: null,
    list: true,
    description:
      'Further fields of chat, completion and response requests that all upstream servers get unchanged, such as `top_k,min_p`. `reasoning_effort`, `verbosity` and `chat_template_kwargs` are always sent. Unset: other fields are ignored.',
  },
  rateLimits: {
    env: 'QUIRE_RATE_LIMITS',
    file: 'rate_limits',
    schema: Text,
    default: 'requests=6000,tokens=4000000,concurrent=256',
    parse: parseRateLimits,
    description:
      'Limits of every API key without limits of its own: requests per minute, tokens per minute and concurrent requests. A part that is absent is unlimited; `off` lifts all. See limits.md.',
  },
  usageRetentionDays: {
    env: 'QUIRE_USAGE_RETENTION_DAYS',
    file: 'usage_retention_days',
    schema: Type.Integer({ minimum: 1, maximum: 36_500 }),
    default: 400,
    description: 'Days that usage records of single calls are kept. Sums by day are kept without limit.',
  },
  requestLogDays: {
    env: 'QUIRE_REQUEST_LOG_DAYS',
    file: 'request_log_days',
    schema: Type.Integer({ minimum: 1, maximum: 3_650 }),
    default: 30,
    description:
      'Days that the log of requests (`GET /v1/requests`) is kept: about 0.6 GB of the database for a million requests.',
  },
  auditRetentionDays: {
    env: 'QUIRE_AUDIT_RETENTION_DAYS',
    file: 'audit_retention_days',
    schema: Type.Integer({ minimum: 1, maximum: 36_500 }),
    default: null,
    description: 'Days that events of the audit log are kept. Unset: without limit.',
  },
  localThreads: {
    env: 'QUIRE_LOCAL_THREADS',
    file: 'local_threads',
    schema: Type.Integer({ minimum: 1, maximum: 512 }),
    default: null,
    description: 'Threads per local model. Unset: measured at the first start and stored in the data folder.',
  },
  localSequences: {
    env: 'QUIRE_LOCAL_SEQUENCES',
    file: 'local_sequences',
    schema: Type.Integer({ minimum: 1, maximum: 256 }),
    default: null,
    description:
      'Slots (concurrent generations) per local model. Each slot takes the memory of one context. Unset: 1 to 16, by measured speed and free memory.',
  },
  localCalibration: {
    env: 'QUIRE_LOCAL_CALIBRATION',
    file: 'local_calibration',
    schema: Type.Enum(['first', 'off']),
    default: 'first',
    description:
      'Calibration of local models. `first`: at their first start, which takes two seconds longer. `off`: never; uses one thread, and step and slot counts of a small machine.',
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
      'Encryption key of stored data source credentials: at least 32 random characters, such as from `openssl rand -hex 32`, equal for all processes of one database. Unset: generated by the first start in `secrets.key` in the data folder.',
  },
  corsOrigins: {
    env: 'QUIRE_CORS_ORIGINS',
    file: 'cors_origins',
    schema: Type.Array(Type.String({ pattern: '^(\\*|https?://[^\\s/]+)$' })),
    default: null,
    list: true,
    description: 'Web origins allowed by CORS, or `*`. Unset: none.',
  },
  trustedProxies: {
    env: 'QUIRE_TRUSTED_PROXIES',
    file: 'trusted_proxies',
    schema: Type.Array(Text),
    default: null,
    list: true,
    parse: parseTrustedProxies,
    description:
      'Addresses and CIDR ranges of the reverse proxies, such as `127.0.0.1,10.0.0.0/8`. Their `X-Forwarded-For` names the client: the rightmost address that is none of them. It counts for limits of sign-ins and for the audit log. Unset: the header is ignored, and all clients of a proxy share its limits.',
  },
  ollamaKeyId: {
    env: 'QUIRE_OLLAMA_KEY_ID',
    file: 'ollama_key_id',
    schema: Type.String({ pattern: '^key_[0-9a-z]+$' }),
    default: null,
    description:
      "Id of the API key that requests of this machine without a key act as on the routes of Ollama's API (`/api`), see ollama.md. Requires `QUIRE_HOST` to be a loopback address, no `QUIRE_TRUSTED_PROXIES`, and no `*` in `QUIRE_CORS_ORIGINS`. Unset: `/api` needs a key, as every route.",
  },
  allowPrivateHosts: {
    env: 'QUIRE_ALLOW_PRIVATE_HOSTS',
    file: 'allow_private_hosts',
    schema: Type.Array(Text),
    check: requirePrivateHosts,
    default: null,
    list: true,
    description:
      'Host names, addresses and CIDR ranges that data sources and MCP clients may connect to although they are private, such as `wiki.corp.example,10.20.0.0/16`. Unset: they reach public addresses only.',
  },
  chromiumPath: {
    env: 'QUIRE_CHROMIUM_PATH',
    file: 'chromium_path',
    schema: Text,
    default: null,
    description:
      'Program of an installed Chromium or Chrome, such as `/usr/bin/chromium`. Web crawls then run the JavaScript of pages that show no text without it, with up to 1 GiB of memory. Unset: such pages are reported as failed documents.',
  },
  ocrEngine: {
    env: 'QUIRE_OCR',
    file: 'ocr',
    schema: Type.Enum(['auto', 'bundled', 'system', 'off']),
    default: 'auto',
    description:
      "OCR of images and of PDF pages without text: the bundled Tesseract (`bundled`), the program `tesseract` of the system (`system`), which is usually faster, the system's where it is installed with the languages (`auto`), or none (`off`).",
  },
  ocrLanguages: {
    env: 'QUIRE_OCR_LANGUAGES',
    file: 'ocr_languages',
    schema: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{1,31}$' }), { maxItems: 16 }),
    default: null,
    list: true,
    description:
      "Languages of scanned documents as Tesseract's codes, such as `eng,deu`; the most frequent one first. Each takes more time. Unset: all installed languages. English is installed; `npm install @tesseract.js-data/deu` installs German.",
  },
  ocrFolder: {
    env: 'QUIRE_OCR_FOLDER',
    file: 'ocr_folder',
    schema: Text,
    default: null,
    description:
      "Folder with further languages for OCR: Tesseract's files `CODE.traineddata`, or `CODE.traineddata.gz` for the bundled Tesseract.",
  },
  bodyLimitBytes: {
    env: 'QUIRE_BODY_LIMIT',
    file: 'body_limit',
    schema: Type.Integer({ minimum: 1024, maximum: 536_870_912 }),
    default: 67_108_864,
    description:
      'Maximum size of JSON request bodies in bytes. Limited to 16 to 64 MiB with a memory limit below 8 GB, see Memory in operations.md.',
  },
  modelsPull: {
    env: 'QUIRE_MODELS_PULL',
    file: 'models_pull',
    schema: Type.Enum(['auto', 'never']),
    default: 'auto',
    description:
      '`auto`: the first start downloads a chat model in the background if the hub is reachable, and binds it when complete; at a terminal it asks first. `never`: only `quire models pull` downloads.',
  },
  hubUrl: {
    env: 'QUIRE_HUB_URL',
    file: 'hub_url',
    schema: BaseUrl,
    default: 'https://huggingface.co',
    description: 'Hub (or a mirror) that models are downloaded from.',
  },
  hubToken: {
    env: 'QUIRE_HUB_TOKEN',
    file: 'hub_token',
    schema: Text,
    default: null,
    secret: true,
    description: 'Access token for gated models. Sent only to `QUIRE_HUB_URL`.',
  },
  prefixCacheMegabytes: {
    env: 'QUIRE_PREFIX_CACHE_MB',
    file: 'prefix_cache_mb',
    schema: Type.Integer({ minimum: 0, maximum: 1_048_576 }),
    default: 1024,
    description:
      'Size limit in MB of the KV disk cache of each local model, in the data folder. Cached prompt prefixes survive restarts. `0` disables it.',
  },
  bundledKeepAliveSeconds: {
    env: 'QUIRE_BUNDLED_KEEP_ALIVE',
    file: 'bundled_keep_alive',
    schema: Type.Integer({ minimum: -1, maximum: 86_400 }),
    default: 300,
    description:
      'Seconds without a request after which the bundled chat model is unloaded. The next request loads it again, which takes about a second. It is also loaded by the first request only. -1: loaded at the start and never unloaded.',
  },
  ...SIGN_IN_SETTINGS,
  ...MAIL_SETTINGS,
} as const satisfies Record<string, Setting>;

/** The value of a setting: what `parse` returns or the schema describes; null when it is unset and has no default. */
type SettingValue<S extends Setting> =
  | (S extends { parse(value: never): infer Value } ? Value : S['schema'] extends TSchema ? Static<S['schema']> : never)
  | (S['default'] extends null ? null : never);

/** The values of all settings, by name. */
export type SettingValues = { -readonly [Name in keyof typeof SETTINGS]: SettingValue<(typeof SETTINGS)[Name]> };

/** Standard proxy variables, which have no `QUIRE_` prefix. */
export const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'] as const;
