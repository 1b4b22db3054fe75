import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv } from 'ajv';
import type { Static } from 'typebox';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { isLoopbackHost } from '../lib/loopback-host.ts';
import { type MemoryLimit, readMemoryLimit } from '../lib/memory-limit.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import type { ProxySettings } from '../lib/proxy.ts';
import { fileVariable, readVariable } from '../lib/secret-file.ts';
import { CONFIG_FILE } from './defaults.ts';
import { FileSections, type ModelBinding } from './file-sections.ts';
import { type MemoryBudget, planMemory } from './memory-budget.ts';
import { type OtlpConfig, readOtlp } from './otlp.ts';
import { PROXY_VARIABLES, SETTINGS, type Setting, type SettingValues } from './settings.ts';

/** Where the value of a setting comes from. `value` is not parsed, and may be a secret. */
export interface SettingSource {
  origin: 'default' | 'file' | 'environment' | 'command line';
  /** Line in the configuration file; null for other origins. */
  line: number | null;
  value: unknown;
}

/** Validated configuration with defaults, created by `loadConfig`: declared settings and derived values. */
export interface Config extends Omit<SettingValues, 'memoryLimitMb'> {
  /** Memory limit of the process and the budget of its components. */
  memory: { limit: MemoryLimit; budget: MemoryBudget };
  /** Null: no proxy is configured. */
  proxy: ProxySettings | null;
  models: Record<string, Static<typeof ModelBinding>>;
  /** OTLP export of traces and metrics; null: off. */
  otlp: OtlpConfig | null;
  /** Path of the configuration file; null without one. */
  file: string | null;
  /** Sources of the settings, by their names in `SETTINGS`. */
  sources: Readonly<Record<string, SettingSource>>;
  /** Names of unknown `QUIRE_` variables. They are ignored with a warning. */
  unknownVariables: string[];
}

/** Variables of the client commands, and the path of the configuration file. */
const OTHER_VARIABLES = new Set(['QUIRE_CONFIG', 'QUIRE_URL', 'QUIRE_API_KEY', fileVariable('QUIRE_API_KEY')]);
const ajv = new Ajv({ coerceTypes: false, useDefaults: true, strict: false });

/**
 * Reads the environment and the configuration file. `flags` are variables given on the command line, which win. Throws
 * an `OperatorError` that names the first unknown key or invalid value.
 */
export function loadConfig(
  variables: Record<string, string | undefined> = process.env,
  flags: Record<string, string | undefined> = {},
): Config {
  const environment = { ...variables, ...readSecretFiles(variables), ...flags };
  const file = readConfigFile(environment);
  const settings = Object.entries<Setting>(SETTINGS).map(([name, setting]) => {
    const source = findSource(setting, { environment, flags, file });
    return { name, source, value: readSetting(setting, source, file.path) };
  });
  const fileKeys = new Set<string>(Object.values<Setting>(SETTINGS).flatMap((setting) => setting.file ?? []));
  for (const key of Object.keys(file.values)) {
    if (!fileKeys.has(key) && key !== 'models') {
      throw new OperatorError(`${file.path}: '${key}' is not a setting. docs/use/configuration.md lists them.`);
    }
  }
  const { memoryLimitMb, ...values } = Object.fromEntries(
    settings.map(({ name, value }) => [name, value]),
  ) as SettingValues;
  requireLocalOllama(values);
  const memory = planProcessMemory(memoryLimitMb);
  return {
    ...values,
    memory,
    bodyLimitBytes: Math.min(values.bodyLimitBytes, memory.budget.maxBodyMb * 2 ** 20),
    dataDir: resolve(values.dataDir),
    proxy: readProxy(environment),
    otlp: readOtlp(environment),
    models: readModels(file.values['models'], file.path),
    file: file.exists ? file.path : null,
    sources: Object.fromEntries(settings.map(({ name, source }) => [name, source])),
    unknownVariables: Object.keys(environment).filter((name) => name.startsWith('QUIRE_') && !isKnownVariable(name)),
  };
}

/** Throws an `OperatorError` for settings with which requests of other machines or of web pages would need no key. */
function requireLocalOllama({ ollamaKeyId, host, trustedProxies, corsOrigins }: Omit<SettingValues, 'memoryLimitMb'>) {
  if (ollamaKeyId === null) return;
  const risks = [
    [!isLoopbackHost(host), `QUIRE_HOST is ${host}: set it to 127.0.0.1`],
    [trustedProxies !== null, 'QUIRE_TRUSTED_PROXIES names a proxy, which forwards requests of other machines'],
    [corsOrigins?.includes('*'), 'QUIRE_CORS_ORIGINS allows every web page'],
  ] as const;
  const risk = risks.find(([isUnsafe]) => isUnsafe)?.[1];
  if (risk !== undefined)
    throw new OperatorError(`QUIRE_OLLAMA_KEY_ID lets programs of this machine in without a key, but ${risk}.`);
}

function planProcessMemory(limitMb: number | null): Config['memory'] {
  const limit = limitMb === null ? readMemoryLimit() : { bytes: limitMb * 2 ** 20, source: 'QUIRE_MEMORY_LIMIT_MB' };
  return { limit, budget: planMemory(limit.bytes) };
}

function readProxy(environment: Record<string, string | undefined>): Config['proxy'] {
  const [httpProxy, httpsProxy, noProxy] = PROXY_VARIABLES.map((name) => {
    // Both cases are in common use. An empty value counts as unset.
    return environment[name] || environment[name.toLowerCase()] || null;
  });
  if (!httpProxy && !httpsProxy) return null;
  return { httpProxy: httpProxy ?? null, httpsProxy: httpsProxy ?? null, noProxy: noProxy ?? null };
}

/** The secret settings that are in files. */
function readSecretFiles(variables: Record<string, string | undefined>): Record<string, string | undefined> {
  const secrets = Object.values<Setting>(SETTINGS).filter(({ secret }) => secret === true);
  return Object.fromEntries(secrets.map(({ env }) => [env, readVariable(variables, env)]));
}

function isKnownVariable(name: string): boolean {
  const isSetting = Object.values<Setting>(SETTINGS).some(
    ({ env, secret }) => env === name || (secret === true && fileVariable(env) === name),
  );
  return isSetting || OTHER_VARIABLES.has(name) || name.startsWith('QUIRE_TEST_');
}

interface ConfigFile {
  path: string;
  exists: boolean;
  values: Record<string, unknown>;
  /** Lines of the keys, from 1. */
  lines: ReadonlyMap<string, number>;
}

function readConfigFile(environment: Record<string, string | undefined>): ConfigFile {
  const configuredPath = environment['QUIRE_CONFIG'];
  const path = resolve(configuredPath ?? CONFIG_FILE);
  if (!existsSync(path)) {
    if (configuredPath !== undefined)
      throw new OperatorError(`The configuration file ${path} (QUIRE_CONFIG) does not exist.`);
    return { path, exists: false, values: {}, lines: new Map() };
  }
  const counter = new LineCounter();
  const parsed = parseDocument(readFileSync(path, 'utf8'), { lineCounter: counter });
  const [error] = parsed.errors;
  if (error !== undefined) throw new OperatorError(`${path} is not valid YAML: ${error.message.split('\n')[0]}`);
  const lines = new Map<string, number>();
  for (const { key } of isMap(parsed.contents) ? parsed.contents.items : []) {
    if (isScalar(key) && key.range) lines.set(String(key.value), counter.linePos(key.range[0]).line);
  }
  const document: unknown = readAliases(parsed, path);
  if (document === null || document === undefined) return { path, exists: true, values: {}, lines };
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new OperatorError(`${path} must contain 'name: value' lines.`);
  }
  const values = expandVariables(document, environment, path) as Record<string, unknown>;
  return { path, exists: true, values, lines };
}

/** Aliases without an anchor, and too many of them, are found by the conversion. */
function readAliases(parsed: { toJS(): unknown }, path: string): unknown {
  try {
    return parsed.toJS();
  } catch (error) {
    throw new OperatorError(`${path} is not valid YAML: ${describeError(error).split('\n')[0]}`);
  }
}

/** Replaces `${NAME}` by environment variables or the files that they name: versioned files need no secrets. */
function expandVariables(value: unknown, environment: Record<string, string | undefined>, path: string): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const replacement = readVariable(environment, name);
      if (replacement === undefined)
        throw new OperatorError(`${path} refers to \${${name}}, which is not set in the environment.`);
      return replacement;
    });
  }
  if (Array.isArray(value)) return value.map((item) => expandVariables(item, environment, path));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expandVariables(item, environment, path)]),
  );
}

interface Sources {
  environment: Record<string, string | undefined>;
  flags: Record<string, string | undefined>;
  file: ConfigFile;
}

/** An empty variable counts as unset: compose files cannot unset variables. */
function findSource(setting: Setting, { environment, flags, file }: Sources): SettingSource {
  const text = environment[setting.env];
  if (text !== undefined && text !== '') {
    const origin = flags[setting.env] === undefined ? 'environment' : 'command line';
    return { origin, line: null, value: parseText(setting, text) };
  }
  const key = setting.file;
  const value = key === null ? undefined : file.values[key];
  if (key === null || value === undefined || value === null)
    return { origin: 'default', line: null, value: setting.default };
  const list = setting.list && typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value;
  return { origin: 'file', line: file.lines.get(key) ?? null, value: list };
}

function readSetting(setting: Setting, { origin, value }: SettingSource, path: string): unknown {
  if (origin === 'default') {
    return setting.default === null ? null : (setting.parse?.(String(setting.default)) ?? setting.default);
  }
  return requireValid(setting, value, origin === 'file' ? `${path}: '${setting.file}'` : setting.env);
}

function parseText(setting: Setting, text: string): unknown {
  if (setting.list)
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  const isNumber = (setting.schema as { type?: string }).type === 'integer';
  return isNumber && /^-?\d+$/.test(text.trim()) ? Number(text) : text;
}

function requireValid(setting: Setting, value: unknown, location: string): unknown {
  const validate = ajv.compile(setting.schema);
  const actual = setting.secret ? '' : ` It is ${JSON.stringify(value)}.`;
  if (!validate(value)) {
    throw new OperatorError(`${location} has a wrong value: it ${describeViolation(validate.errors?.[0])}.${actual}`);
  }
  try {
    // The schemas of settings with these functions accept texts or lists only.
    setting.check?.(value as string | string[]);
    return setting.parse?.(value as string | string[]) ?? value;
  } catch (error) {
    throw new OperatorError(`${location} has a wrong value: it ${describeError(error)}.${actual}`);
  }
}

function readModels(value: unknown, path: string): Config['models'] {
  const validate = ajv.compile<Required<Static<typeof FileSections>>>(FileSections);
  const sections = { models: listBaseUrls(value ?? {}) };
  if (!validate(sections)) {
    const error = validate.errors?.[0];
    const at = (error?.instancePath ?? '').split('/').slice(1).join('.');
    const extra = error?.keyword === 'additionalProperties' ? `.${error.params['additionalProperty']}` : '';
    throw new OperatorError(`${path}: '${at}${extra}' ${extra ? 'is not a setting' : describeViolation(error)}.`);
  }
  return sections.models;
}

/** Makes a list of each `base_urls` that is a text: one URL, or several separated by commas. */
function listBaseUrls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(listBaseUrls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, item]: [string, unknown]) => {
    if (name !== 'base_urls' || typeof item !== 'string') return [name, listBaseUrls(item)];
    return [name, item.split(',').map((url) => url.trim())];
  });
  return Object.fromEntries(entries);
}

/** JSON types in the words of a configuration file. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  object: "a block of 'name: value' lines",
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function describeViolation(
  error: { keyword?: string; message?: string; params?: Record<string, unknown> } | undefined,
): string {
  const type = error?.keyword === 'type' ? TYPE_NAMES[String(error.params?.['type'])] : undefined;
  if (type !== undefined) return `must be ${type}`;
  const allowed = error?.params?.['allowedValues'];
  return allowed ? `must be one of ${(allowed as string[]).join(', ')}` : (error?.message ?? 'is not accepted');
}
