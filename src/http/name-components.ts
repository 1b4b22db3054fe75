import { STATUS_CODES } from 'node:http';

type Json = Record<string, unknown>;

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Adds the type to the schema of an enum. Client generators accept any value for an enum without a type. */
function withType(schema: Json): Json {
  const { enum: values } = schema;
  const isUntyped = Array.isArray(values) && !('type' in schema);
  return isUntyped && values.every((value) => typeof value === 'string') ? { type: 'string', ...schema } : schema;
}

/**
 * Names the type of enums. Moves every schema with a name (`titleSchemas`) to `components.schemas` and refers to it.
 * Throws when two different schemas have one name.
 */
export function nameComponents<Document extends { paths?: unknown; components?: unknown }>(
  document: Document,
): Document {
  const schemas = new Map<string, unknown>();
  const extract = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(extract);
    if (typeof value !== 'object' || value === null) return value;
    const schema = withType(value as Json);
    const { title, ...rest } = schema;
    const isNamed = typeof title === 'string' && ('type' in rest || 'anyOf' in rest);
    const extracted = Object.fromEntries(
      Object.entries(isNamed ? rest : schema).map(([key, member]) => [key, DATA.has(key) ? member : extract(member)]),
    );
    if (!isNamed) return extracted;
    const existing = schemas.get(title);
    if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(extracted)) {
      throw new Error(`two schemas have the name '${title}'`);
    }
    schemas.set(title, extracted);
    return { $ref: `#/components/schemas/${title}` };
  };
  const shared = new SharedParts();
  const paths = mapResponses(extract(document.paths) as Paths, (...response) => shared.refer(...response));
  const components = { ...(document.components as Json), ...shared.components(), schemas: sortByName(schemas) };
  return { ...document, paths, components };
}

type Response = Json & { headers?: Json };
type Operation = Json & { responses: Record<string, Response> };
type Paths = Record<string, Record<string, Operation>>;

function mapResponses(paths: Paths, map: (status: string, response: Response, operation: Operation) => Json): Json {
  const mapped = structuredClone(paths) as Record<string, Record<string, Json>>;
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const responses = Object.entries(operation.responses).map(([status, response]) => [
        status,
        map(status, response, operation),
      ]);
      Object.assign(mapped[path]?.[method] ?? {}, { responses: Object.fromEntries(responses) });
    }
  }
  return mapped;
}

const KEY_STATUSES: ReadonlySet<string> = new Set(['401', '403', '429']);

/** Schema of the errors of a protocol, after which its responses are named. */
const OWN_ERRORS = /schemas\/(?!Screened)(\w+)ErrorResponse"/;

/** Headers and error responses, which many operations share. */
class SharedParts {
  readonly #headers = new Map<string, unknown>();
  readonly #responses = new Map<string, unknown>();

  /** Refers to the headers of a response, and to the response itself when it is an error. */
  refer(status: string, response: Response, { security }: Operation): Json {
    const headers = Object.entries(response.headers ?? {}).map(([name, header]) => {
      this.#headers.set(name, header);
      return [name, { $ref: `#/components/headers/${name}` }];
    });
    const referring = { ...response, headers: Object.fromEntries(headers) };
    // Operations without a key reject sessions of the console with the statuses of keys.
    const variant = KEY_STATUSES.has(status) && security !== undefined ? 'OfSession' : '';
    return isError(response) ? { $ref: `#/components/responses/${this.#name(status, variant, referring)}` } : referring;
  }

  components(): { headers: Json; responses: Json } {
    return { headers: sortByName(this.#headers), responses: sortByName(this.#responses) };
  }

  /** The status text and the variant; the second response of that name is that of calls of models. */
  #name(status: string, variant: string, response: Json): string {
    const protocol = OWN_ERRORS.exec(JSON.stringify(response['content']))?.[1] ?? '';
    const base = protocol + (STATUS_CODES[status] ?? status).replaceAll(/[^A-Za-z]/g, '') + variant;
    for (const name of [base, `${base}OfModelCall`, `${base}${this.#responses.size}`]) {
      const existing = this.#responses.get(name);
      if (existing !== undefined && JSON.stringify(existing) !== JSON.stringify(response)) continue;
      this.#responses.set(name, response);
      return name;
    }
    throw new Error(`too many variants of the response ${status}`);
  }
}

/** Whether the body is that of all errors: `/readyz` has a body of its own. */
function isError({ content }: Response): boolean {
  return /ErrorResponse"/.test(JSON.stringify(content ?? {}));
}

const sortByName = (parts: ReadonlyMap<string, unknown>): Json =>
  Object.fromEntries([...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
