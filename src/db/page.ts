import { type AnyColumn, asc, desc, sql as expression, gt, lt, type SQL } from 'drizzle-orm';
import { type Static, Type } from 'typebox';
import { invalidValue } from '../errors.ts';
import { type IdKind, isId } from '../lib/ids.ts';

/** Query parameters of all lists. Limits outside 1 to 100 are rejected, not clamped. */
export const ListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Page size. Default: 20.' })),
  after: Type.Optional(Type.String({ description: '`last_id` of the previous page.' })),
});

export type ListQuery = Static<typeof ListQuery>;

/** Query parameter of lists that can begin with the newest item. */
export const ListOrder = Type.Optional(
  Type.Enum(['asc', 'desc'], { default: 'asc', description: '`desc`: newest first.' }),
);

/** Query parameter of lists that can be searched by name. */
export const NameSearch = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'Returns only items whose name contains this text (case-insensitive).',
  }),
);

/** Default page size. */
export const DEFAULT_PAGE_SIZE = 20;

/** The list envelope around items of one schema, in ascending order of creation. */
export const listSchema = <T extends ReturnType<typeof Type.Object>>(item: T) =>
  Type.Object(
    {
      object: Type.Literal('list'),
      data: Type.Array(item),
      has_more: Type.Boolean(),
      first_id: Type.Union([Type.String(), Type.Null()]),
      last_id: Type.Union([Type.String(), Type.Null()]),
    },
    'title' in item ? { title: `${item.title}List` } : {},
  );

/** The response to the deletion of an object. */
export const deletedSchema = <T extends string>(object: T) =>
  Type.Object({ id: Type.String(), object: Type.Literal(object), deleted: Type.Literal(true) });

/** Parameters of a page query: the store reads `limit + 1` rows with an id above `after`, in ascending order. */
export interface PageBounds {
  limit: number;
  after: string | null;
}

/** Conditions and order of a page of rows by id, which is the order of creation. */
export function pageOrder(
  id: AnyColumn,
  { after }: PageBounds,
  order: 'asc' | 'desc' = 'asc',
): { isAfter: SQL | undefined; orderBy: SQL } {
  const isLater = order === 'desc' ? lt : gt;
  return {
    isAfter: after === null ? undefined : isLater(id, after),
    orderBy: order === 'desc' ? desc(id) : asc(id),
  };
}

/** Condition that a name contains a text, in upper or lower case; undefined without a text. */
export function nameContains(name: AnyColumn, text: string | undefined): SQL | undefined {
  return text === undefined ? undefined : expression`strpos(lower(${name}), lower(${text})) > 0`;
}

/** Validates the cursor. Every well-formed id of the resource is a valid cursor, even when its row does not exist. */
export function pageBounds(query: ListQuery, kind: IdKind): PageBounds {
  if (query.after !== undefined && !isId(kind, query.after)) {
    throw invalidValue('after', 'must be an id from an earlier page of this list');
  }
  return { limit: query.limit ?? DEFAULT_PAGE_SIZE, after: query.after ?? null };
}

/** Builds the list object from `limit + 1` rows of a store. The extra row only indicates that there are more. */
export function page<T extends { id: string }>(rows: readonly T[], limit: number) {
  const data = rows.slice(0, limit);
  return {
    object: 'list' as const,
    data,
    has_more: rows.length > limit,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
