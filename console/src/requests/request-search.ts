/** Periods of the page, in seconds. */
export const PERIODS = { '1h': 3_600, '24h': 86_400, '7d': 7 * 86_400, '30d': 30 * 86_400 } as const;
/** A period of the page. */
export type Period = keyof typeof PERIODS;

const PERIOD_NAMES = Object.keys(PERIODS) as Period[];

/** Statuses to choose from. */
export const STATUSES = ['2xx', '4xx', '5xx', '429', 'error'] as const;
/** Least durations to choose from, in milliseconds. */
export const MIN_DURATIONS = ['1000', '5000', '30000'] as const;
/** Results of guardrail policies, and of the prefix cache. */
export const GUARDRAILS = ['passed', 'flagged', 'blocked'] as const;
export const CACHES = ['hit', 'miss'] as const;
/** Columns that are shown unless others are chosen. */
const DEFAULT_COLUMNS = ['time', 'status', 'route', 'model', 'key', 'tokens', 'duration', 'cost'] as const;
const MORE_COLUMNS = ['queue', 'firstToken', 'decode', 'cache', 'guardrail', 'trace', 'error'] as const;
/** All columns, in their order. */
export const COLUMNS = [...DEFAULT_COLUMNS, ...MORE_COLUMNS] as const;
/** A column of the table. */
export type ColumnName = (typeof COLUMNS)[number];

/** Search parameters of the page; absent ones have their default. */
export interface RequestSearch {
  period?: Period | undefined;
  status?: (typeof STATUSES)[number] | undefined;
  route?: string | undefined;
  model?: string | undefined;
  /** Id of a key or user. */
  key?: string | undefined;
  guardrail?: (typeof GUARDRAILS)[number] | undefined;
  cache?: (typeof CACHES)[number] | undefined;
  min?: (typeof MIN_DURATIONS)[number] | undefined;
  q?: string | undefined;
  order?: 'asc' | undefined;
  live?: true | undefined;
  /** Names of the shown columns, separated by commas. */
  columns?: string | undefined;
  /** Id of the request that is open. */
  request?: string | undefined;
}

/** Drops parameters that are not valid. */
export function parseRequestSearch(search: Record<string, unknown>): RequestSearch {
  const pick = <T>(values: readonly T[], name: string) =>
    values.find((value) => String(value) === String(search[name]));
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' && value.trim() !== '' ? value.slice(0, 256) : undefined;
  };
  const id = text('request');
  return {
    period: pick(PERIOD_NAMES, 'period'),
    status: pick(STATUSES, 'status'),
    route: text('route'),
    model: text('model'),
    key: text('key'),
    guardrail: pick(GUARDRAILS, 'guardrail'),
    cache: pick(CACHES, 'cache'),
    min: pick(MIN_DURATIONS, 'min'),
    q: text('q'),
    order: pick(['asc'] as const, 'order'),
    live: search['live'] === true ? true : undefined,
    columns: text('columns'),
    request: id !== undefined && /^req_[0-9a-z]{26}$/.test(id) ? id : undefined,
  };
}

/** Names of the parameters that filter the list. */
const FILTERS = ['status', 'route', 'model', 'key', 'guardrail', 'cache', 'min', 'q'] as const;

/** Whether the list is filtered, besides by its period. */
export const isFiltered = (search: RequestSearch): boolean => FILTERS.some((name) => search[name] !== undefined);

/** No filters; other parameters stay. */
export const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, undefined])) as Partial<RequestSearch>;

/** The query of the API at a time, in milliseconds since 1970. */
export function toQuery(search: RequestSearch, now: number) {
  const { period = '24h', status, route, model, key, guardrail, cache, min, q, order = 'desc' } = search;
  return {
    order,
    start_time: Math.floor(now / 1000) - PERIODS[period],
    ...(status && { status }),
    ...(route && { route }),
    ...(model && { model }),
    ...(key && { key_id: key }),
    ...(guardrail && { guardrail }),
    ...(cache && { cache }),
    ...(min && { min_duration_ms: Number(min) }),
    ...(q && { search: q.trim() }),
  } as const;
}

/** The columns of a list in an address; the default ones when it names none. */
export function parseColumns(text: string | undefined): ColumnName[] {
  const names = new Set(text?.split(','));
  const chosen = COLUMNS.filter((name) => names.has(name));
  return chosen.length === 0 ? [...DEFAULT_COLUMNS] : chosen;
}

/** The columns for an address, undefined for the default ones. */
export function formatColumns(columns: readonly ColumnName[]): string | undefined {
  const text = COLUMNS.filter((name) => columns.includes(name)).join(',');
  return text === DEFAULT_COLUMNS.join(',') || text === '' ? undefined : text;
}
