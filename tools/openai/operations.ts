import type { Components, Schema } from './properties.ts';

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

interface Operation {
  tags?: string[];
  parameters?: { $ref?: string; name: string; in: string; required?: boolean; schema?: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}

/** The parts of an OpenAPI description that are compared. */
export interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Components };
}

/** Whether clients send the values of a schema or receive them. */
export type Direction = 'request' | 'response';

/** A schema of an operation; `place` is such as `POST /v1/embeddings request`. */
export interface Place {
  place: string;
  direction: Direction;
  schema: Schema;
}

/** Groups of OpenAI's API of which Quire implements operations or a replacement. */
const GROUPS = [
  'chat',
  'completions',
  'embeddings',
  'responses',
  'files',
  'uploads',
  'batches',
  'models',
  'moderations',
  'vector_stores',
];

/** Operations of OpenAI in our groups, such as `POST /v1/files/{}`. */
export function listOperations(theirs: Description): string[] {
  const paths = Object.keys(theirs.paths).filter(
    (path) => GROUPS.includes(path.split('/')[1] ?? '') && !path.includes('?'),
  );
  return paths.flatMap((path) =>
    Object.keys(operationsAt(theirs, path)).map((method) => describeOperation(method, `/v1${path}`)),
  );
}

/** The first tag of each operation, such as `Files` of `POST /v1/files`. */
export function listOperationTags(description: Description, prefix: string): Map<string, string> {
  return new Map(
    Object.keys(description.paths).flatMap((path) =>
      Object.entries(operationsAt(description, path)).map(
        ([method, { tags = [] }]) => [describeOperation(method, `${prefix}${path}`), tags[0] ?? ''] as const,
      ),
    ),
  );
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function operationsAt(description: Description, path: string): Record<string, Operation> {
  return Object.fromEntries(
    Object.entries(description.paths[path] ?? {}).filter(([method]) => METHODS.includes(method)),
  );
}

/** Parameters of a path have other names in each description. */
function describeOperation(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, '{}')}`;
}

/** Our operations. */
export function ourOperations(ours: Description): Set<string> {
  const list = (path: string) => Object.keys(operationsAt(ours, path)).map((method) => describeOperation(method, path));
  return new Set(Object.keys(ours.paths).flatMap(list));
}

/** The schemas of all operations by place. `prefix` comes before every path. */
export function listPlaces(description: Description, prefix: string): Map<string, Place> {
  const listed = Object.keys(description.paths).flatMap((path) =>
    Object.entries(operationsAt(description, path)).flatMap(([method, operation]) => {
      const name = describeOperation(method, `${prefix}${path}`);
      const places = [
        { place: `${name} query`, direction: 'request' as const, schema: querySchema(operation) },
        { place: `${name} request`, direction: 'request' as const, schema: bodySchema(operation.requestBody, isBody) },
        {
          place: `${name} response`,
          direction: 'response' as const,
          schema: bodySchema(operation.responses['200'], isBody),
        },
        {
          place: `${name} stream`,
          direction: 'response' as const,
          schema: bodySchema(operation.responses['200'], isStream),
        },
      ];
      return places.flatMap(({ schema, ...place }) => (schema === undefined ? [] : [{ ...place, schema }]));
    }),
  );
  return new Map(listed.map((place) => [place.place, place]));
}

const isStream = (type: string): boolean => type === 'text/event-stream';
const isBody = (type: string): boolean => type === 'application/json' || type === 'multipart/form-data';

function bodySchema(body: Content | undefined, accepts: (type: string) => boolean): Schema | undefined {
  return Object.entries(body?.content ?? {}).find(([type]) => accepts(type))?.[1].schema;
}

function querySchema({ parameters = [] }: Operation): Schema | undefined {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  if (query.length === 0) return undefined;
  return {
    type: 'object',
    properties: Object.fromEntries(query.map(({ name, schema }) => [name, schema ?? {}])),
    required: query.filter(({ required }) => required).map(({ name }) => name),
  };
}
