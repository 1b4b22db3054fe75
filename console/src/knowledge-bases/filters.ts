/** Operators of the API, in the order of the menu. */
export const OPERATORS = ['$eq', '$ne', '$in', '$gt', '$gte', '$lt', '$lte'] as const;
/** A comparison of a metadata field. */
export type Operator = (typeof OPERATORS)[number];

/** Filters that are no metadata. They compare for equality only. */
export const DOCUMENT_FIELDS = ['document_name', 'document_id', 'source_type'] as const;

/** A line of the filter builder. */
export interface FilterLine {
  id: number;
  field: string;
  operator: Operator;
  value: string;
}

/** Lines of which all must match. Of several groups, one must match. */
export type FilterGroup = readonly FilterLine[];

type Filters = Record<string, unknown>;

/** Whether the field is compared for equality only. */
export const isDocumentField = (field: string): boolean => DOCUMENT_FIELDS.some((name) => name === field);

/** Converts the groups of the builder to `filters` of the API; undefined without a complete line. */
export function toFilters(groups: readonly FilterGroup[]): Filters | undefined {
  const filters = groups.map(toGroup).filter((group) => Object.keys(group).length > 0);
  return filters.length > 1 ? { $or: filters } : filters[0];
}

/** The first line whose field and operator occur twice in its group: the API would see only one of them. */
export function findDuplicate(groups: readonly FilterGroup[]): FilterLine | undefined {
  for (const group of groups) {
    const seen = new Set<string>();
    for (const line of group) {
      const key = `${line.field} ${isDocumentField(line.field) ? '$eq' : line.operator}`;
      if (line.field !== '' && seen.has(key)) return line;
      seen.add(key);
    }
  }
  return undefined;
}

function toGroup(lines: FilterGroup): Filters {
  const filters: Filters = {};
  // A map, because `__proto__` is no usual key of an object.
  const metadata = new Map<string, Record<string, unknown>>();
  for (const { field, operator, value } of lines) {
    const text = value.trim();
    if (field === '' || text === '') continue;
    if (isDocumentField(field)) filters[field] = text;
    else {
      const value = operator === '$in' ? parseList(text) : parseValue(text);
      metadata.set(field, { ...metadata.get(field), [operator]: value });
    }
  }
  return metadata.size === 0 ? filters : { ...filters, metadata: Object.fromEntries(metadata) };
}

const parseList = (text: string) => text.split(',').map((each) => parseValue(each.trim()));

/** A number or a truth value; otherwise, and in double quotes, a text. */
function parseValue(text: string): string | number | boolean {
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  return /^".*"$/.test(text) ? text.slice(1, -1) : text;
}
