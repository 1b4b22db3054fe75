import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';
import { isSchema, type Located, ownProperty, type Schema } from './keywords.ts';

/** Base URI of documents that have none. */
const NOWHERE = 'schema://document/';
/** Keywords whose values are data and not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'example']);
/** Maximum nesting of objects. */
const MAX_DEPTH = 200;

/** A schema document with its references. */
export class SchemaDocument {
  readonly root: Located;
  readonly #bases = new Map<Schema, string>();
  /** Base URI outside of a schema with an id of its own, in which drafts up to 7 resolve its `$ref`. */
  readonly #outerBases = new Map<Schema, string>();
  readonly #byAddress = new Map<string, Located>();

  /** `path`: path of the document. Throws when it is nested too deeply. */
  constructor(root: Located) {
    this.root = root;
    this.#index(root, NOWHERE, 0);
    this.#byAddress.set(NOWHERE, root);
  }

  /** Resolves a reference in `from`. Throws for `path` if the document has no such schema, or drafts disagree. */
  resolve(reference: string, from: Schema, path: string): Located {
    const outerBase = this.#outerBases.get(from);
    const base = this.#bases.get(from) ?? NOWHERE;
    const outer = outerBase === undefined ? null : this.#find(reference, outerBase);
    const target = this.#find(reference, base);
    if (target !== null && (outer === null || outer.schema === target.schema)) return target;
    if (outer !== null && outer.schema !== target?.schema) {
      throw new UnsupportedSchemaError(
        path,
        'is ambiguous: drafts of JSON Schema disagree whether the id beside it changes its base',
      );
    }
    const place = redactedUrl(reference, base)?.split('#', 1)[0];
    const isOutside = place === undefined || !this.#byAddress.has(place);
    throw new UnsupportedSchemaError(
      path,
      isOutside ? "must refer into its own schema, such as '#/$defs/name'" : 'refers to a schema that does not exist',
    );
  }

  #find(reference: string, base: string): Located | null {
    const address = redactedUrl(reference, base);
    const [place = '', fragment = ''] = address?.split('#', 2) ?? [];
    return this.#byAddress.get(address ?? '') ?? this.#inside(this.#byAddress.get(place), fragment);
  }

  #inside(resource: Located | undefined, fragment: string): Located | null {
    if (resource === undefined) return null;
    if (fragment === '') return resource;
    if (!fragment.startsWith('/')) return null;
    let { schema, path } = resource;
    for (const step of fragment.slice(1).split('/').map(unescapeStep)) {
      schema = Array.isArray(schema) ? schema[Number(step)] : ownProperty(schema, step);
      path += `.${step}`;
    }
    return schema === undefined ? null : { schema, path };
  }

  #index({ schema, path }: Located, base: string, depth: number): void {
    if (depth > MAX_DEPTH)
      throw new UnsupportedSchemaError(this.root.path, `is nested deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(schema)) {
      for (const [i, one] of schema.entries()) this.#index({ schema: one, path: `${path}.${i}` }, base, depth + 1);
    }
    if (!isSchema(schema)) return;
    const id = schema['$id'] ?? schema['id'];
    const here = typeof id === 'string' ? (redactedUrl(id, base) ?? base) : base;
    const place = here.split('#')[0] ?? here;
    this.#bases.set(schema, place);
    if (place !== base && schema !== this.root.schema) this.#outerBases.set(schema, base);
    if (here !== base && !this.#byAddress.has(here)) this.#byAddress.set(here.replace(/#$/, ''), { schema, path });
    const anchor = schema['$anchor'];
    if (typeof anchor === 'string') this.#byAddress.set(`${place}#${anchor}`, { schema, path });
    for (const [name, inner] of Object.entries(schema)) {
      if (!DATA.has(name) || isSchema(inner)) this.#index({ schema: inner, path: `${path}.${name}` }, place, depth + 1);
    }
  }
}

function redactedUrl(reference: string, base: string): string | null {
  if (!URL.canParse(reference, base)) return null;
  const { href } = new URL(reference, base);
  const [place = '', fragment] = href.split('#', 2);
  return fragment === undefined || fragment === '' ? place : `${place}#${fragment}`;
}

function unescapeStep(step: string): string {
  const unescaped = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(unescaped);
  } catch {
    // A percent sign that escapes nothing stands for itself.
    return unescaped;
  }
}
