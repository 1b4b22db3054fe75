import { type Static, Type } from 'typebox';
import { titleSchemas } from '../../lib/title-schemas.ts';

const Value = Type.Union([Type.String(), Type.Number(), Type.Array(Type.String()), Type.Null()], {
  description: 'Null: unset. Secrets and credentials in URLs are replaced by `***`.',
});

/** A setting with its value and where it comes from. */
export const ConfiguredSetting = Type.Object({
  variable: Type.String({ description: 'Environment variable.' }),
  file_key: Type.Union([Type.String(), Type.Null()], {
    description: 'Key in the configuration file; null when the file cannot contain it.',
  }),
  value: Value,
  default: Value,
  origin: Type.Enum(['default', 'file', 'environment', 'command line']),
  line: Type.Union([Type.Integer(), Type.Null()], { description: 'Line in the configuration file.' }),
  secret: Type.Boolean(),
  description: Type.String({ description: 'Markdown.' }),
});

export type ConfiguredSetting = Static<typeof ConfiguredSetting>;

/** The configuration that is in force. */
export const Configuration = Type.Object(
  {
    object: Type.Literal('configuration'),
    file: Type.Union([Type.String(), Type.Null()], { description: 'Path of the configuration file; null: none.' }),
    settings: Type.Array(ConfiguredSetting),
    models: Type.Array(
      Type.Object({
        id: Type.String(),
        alias: Type.Union([Type.String(), Type.Null()]),
        engine: Type.Union([Type.String(), Type.Null()]),
        file: Type.Union([Type.String(), Type.Null()]),
        base_urls: Type.Array(Type.String()),
        upstream_model: Type.Union([Type.String(), Type.Null()]),
        protocol: Type.Union([Type.Enum(['openai', 'anthropic']), Type.Null()]),
        has_api_key: Type.Boolean(),
        context_length: Type.Union([Type.Integer(), Type.Null()]),
        capabilities: Type.Array(Type.String()),
      }),
      { description: 'Entries of `models` in the configuration file. Null: not set.' },
    ),
    unknown_variables: Type.Array(Type.String(), {
      description: 'Variables that begin with `QUIRE_` and are ignored.',
    }),
  },
  {
    examples: [
      {
        object: 'configuration',
        file: '/etc/quire/quire.yaml',
        settings: [
          {
            variable: 'QUIRE_PORT',
            file_key: 'port',
            value: 8080,
            default: 8080,
            origin: 'file',
            line: 2,
            secret: false,
            description: 'Port to listen on.',
          },
        ],
        models: [],
        unknown_variables: [],
      },
    ],
  },
);

export type Configuration = Static<typeof Configuration>;

titleSchemas({ ConfiguredSetting, Configuration });
