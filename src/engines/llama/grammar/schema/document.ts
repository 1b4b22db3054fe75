import { invalidValue } from '../../../../errors.ts';
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
  readonly #byAddress = new Map<string, Located>();

  /** `path`: path of the document in the request body. Throws 400 when it is nested too deeply. */
  constructor(root: Located) {
    this.root = root;
    this.#index(root, NOWHERE, 0);
    this.#byAddress.set(NOWHERE, root);
  }

  /** Resolves a reference in `from`. Throws 400 for `path` when the document has no such schema. */
  resolve(reference: string, from: Schema, path: string): Located {
    const address = redactedUrl(reference, this.#bases.get(from) ?? NOWHERE);
    const [place = '', fragment = ''] = address?.split('#', 2) ?? [];
    const found = this.#byAddress.get(address ?? '') ?? this.#inside(this.#byAddress.get(place), fragment);
    if (found !== null) return found;
    const outside = address === null || this.#byAddress.get(place) === undefined;
    throw invalidValue(
      path,
      outside ? "must refer into its own schema, such as '#/$defs/name'" : 'refers to a schema that does not exist',
    );
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
    if (depth > MAX_DEPTH) throw invalidValue(this.root.path, `is nested deeper than ${MAX_DEPTH} levels`);
    if (Array.isArray(schema)) {
      for (const [i, one] of schema.entries()) this.#index({ schema: one, path: `${path}.${i}` }, base, depth + 1);
    }
    if (!isSchema(schema)) return;
    const id = schema['$id'] ?? schema['id'];
    const here = typeof id === 'string' ? (redactedUrl(id, base) ?? base) : base;
    const place = here.split('#')[0] ?? here;
    this.#bases.set(schema, place);
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
