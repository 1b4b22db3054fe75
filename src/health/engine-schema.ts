import { type Static, Type } from 'typebox';
import { titleSchemas } from '../lib/title-schemas.ts';

/** State of an engine of this process. */
export const EngineStatus = Type.Object(
  {
    object: Type.Literal('engine'),
    models: Type.Array(Type.String(), { description: 'Model ids that it serves.' }),
    engine: Type.Enum(['bundled', 'local', 'upstream']),
    name: Type.String({ description: "The engine's own name of the model." }),
    state: Type.Enum(['ready', 'not loaded', 'failed'], {
      description: '`not loaded`: the next request loads the model.',
    }),
    error: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed; null unless `failed`.' }),
    slots: Type.Union(
      [Type.Object({ allocated: Type.Integer(), running: Type.Integer(), waiting: Type.Integer() }), Type.Null()],
      { description: 'KV-cache slots; null for engines without slots.' },
    ),
    memory_bytes: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Resident memory of the process of the model; null: it has none of its own.',
    }),
    can_unload: Type.Boolean({ description: 'Whether the model can be loaded and unloaded.' }),
    servers: Type.Array(
      Type.Object({
        url: Type.String({ description: 'Scheme, host and port.' }),
        healthy: Type.Boolean({ description: 'False while the server gets no requests after a failure.' }),
        in_flight: Type.Integer(),
        last_error: Type.Union([Type.Object({ message: Type.String(), created_at: Type.Integer() }), Type.Null()], {
          description: 'The last failure since the start; null: none.',
        }),
      }),
      { description: 'Servers of an upstream, in the order of their configuration. Least outstanding requests first.' },
    ),
  },
  {
    examples: [
      {
        object: 'engine',
        models: ['general-8b'],
        engine: 'upstream',
        name: 'llama-3.1-8b',
        state: 'ready',
        error: null,
        slots: null,
        memory_bytes: null,
        can_unload: false,
        servers: [{ url: 'http://gpu-1:8000', healthy: true, in_flight: 3, last_error: null }],
      },
    ],
  },
);

export type EngineStatus = Static<typeof EngineStatus>;

/** State of a process of a service of several processes. */
export const ProcessStatus = Type.Object({
  name: Type.String({ description: '`main`, `api-1`, `api-2`, ...' }),
  pid: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: it has ended and is started again.' }),
  state: Type.Enum(['starting', 'ready']),
  restarts: Type.Integer({ description: 'Since the start of the service.' }),
  memory_bytes: Type.Union([Type.Integer(), Type.Null()]),
});

export type ProcessStatus = Static<typeof ProcessStatus>;

/** All engines of this process. */
export const EngineStatusList = Type.Object({
  object: Type.Literal('list'),
  service: Type.Object({ pid: Type.Integer(), memory_bytes: Type.Integer() }, { description: 'The process itself.' }),
  processes: Type.Optional(
    Type.Array(ProcessStatus, {
      description: 'The processes of this service, if it has several (`QUIRE_API_PROCESSES`).',
    }),
  ),
  data: Type.Array(EngineStatus),
});

export type EngineStatusList = Static<typeof EngineStatusList>;

titleSchemas({ EngineStatus, EngineStatusList, ProcessStatus });
