import type { Config, SettingSource } from '../../config/config.ts';
import { SETTINGS, type Setting } from '../../config/settings.ts';
import type { Configuration, ConfiguredSetting } from './schema.ts';

/** Shown instead of a secret. */
const REDACTED = '***';
/** Query parameters of store URLs that are no secrets. */
const SHOWN_PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'path_style']);

/** The configuration that is in force, without secrets. */
export function viewConfiguration(config: Config): Configuration {
  return {
    object: 'configuration',
    file: config.file,
    settings: Object.entries<Setting>(SETTINGS).map(([name, setting]) => viewSetting(config, name, setting)),
    models: Object.entries(config.models).map(([id, binding]) => ({
      id,
      alias: binding.alias ?? null,
      engine: binding.engine ?? null,
      file: binding.file ?? null,
      base_urls: (binding.base_urls ?? (binding.servers ?? []).flatMap((server) => server.base_urls)).map(redactUrl),
      upstream_model: binding.upstream_model ?? null,
      protocol: binding.protocol ?? null,
      has_api_key: [binding, ...(binding.servers ?? [])].some((server) => server.api_key !== undefined),
      context_length: binding.context_length ?? null,
      capabilities: binding.capabilities ?? [],
    })),
    unknown_variables: config.unknownVariables,
  };
}

function viewSetting(config: Config, name: string, setting: Setting): ConfiguredSetting {
  const source = config.sources[name] ?? { origin: 'default', line: null, value: setting.default };
  return {
    variable: setting.env,
    file_key: setting.file,
    value: redact(setting, setting.parse ? source.value : usedValue(config, name, source)),
    default: setting.default,
    origin: source.origin,
    line: source.line,
    secret: setting.secret === true,
    description: setting.description,
  };
}

/** The value in use, which differs from the configured one where memory bounds it and for relative paths. */
function usedValue(config: Config, name: string, { value }: SettingSource): unknown {
  if (name === 'memoryLimitMb') return Math.round(config.memory.limit.bytes / 2 ** 20);
  return (config as unknown as Record<string, unknown>)[name] ?? value;
}

function redact({ secret }: Setting, value: unknown): ConfiguredSetting['value'] {
  if (value === null || value === undefined) return null;
  if (secret === true) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => redactUrl(String(item)));
  return typeof value === 'number' ? value : redactUrl(String(value));
}

/** Replaces the user, the password and the values of unknown query parameters of a URL; other texts are unchanged. */
export function redactUrl(text: string): string {
  if (!text.includes('://')) return text;
  const url = URL.parse(text);
  if (url === null) return REDACTED;
  if (url.username !== '') url.username = REDACTED;
  if (url.password !== '') url.password = REDACTED;
  for (const [name, value] of [...url.searchParams]) {
    url.searchParams.set(name, SHOWN_PARAMETERS.has(name) ? redactUrl(value) : REDACTED);
  }
  return decodeURI(url.href);
}
