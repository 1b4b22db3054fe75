import { type Static, Type } from 'typebox';
import { deletedSchema } from '../db/page.ts';
import { Nullable, UnixSeconds } from '../http/schema-types.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { McpAllowedTools, McpApproval, ServerLabel } from './server-settings.ts';

/** Body of `POST /v1/mcp-servers`. */
export const CreateMcpServer = Type.Object(
  {
    label: ServerLabel,
    url: Type.String({ minLength: 1, maxLength: 2_048, description: 'Address of the server: Streamable HTTP.' }),
    description: Type.Optional(
      Nullable(Type.String({ maxLength: 4_096, description: 'Models read it with the descriptions of the tools.' })),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Headers of the requests to the server. Stored encrypted, and never shown.',
      }),
    ),
    authorization: Type.Optional(
      Type.String({ minLength: 1, description: 'Access token for the server. Stored encrypted, and never shown.' }),
    ),
    allowed_tools: Type.Optional(Nullable(McpAllowedTools)),
    require_approval: Type.Optional(McpApproval),
  },
  { examples: [{ label: 'weather', url: 'https://mcp.example/weather', authorization: 'TOKEN' }] },
);

export type CreateMcpServer = Static<typeof CreateMcpServer>;

/** Body of `PUT /v1/mcp-servers/{server_id}`: the fields to change. */
export const UpdateMcpServer = Type.Partial(CreateMcpServer, {
  description: 'Absent fields keep their values. `headers` and `authorization` together replace all headers.',
  examples: [{ allowed_tools: ['forecast'] }],
});

export type UpdateMcpServer = Static<typeof UpdateMcpServer>;

/** A registered MCP server. */
export const McpServerResource = Type.Object({
  id: Type.String({ description: '`mcps_...`' }),
  object: Type.Literal('mcp_server'),
  label: Type.String(),
  url: Type.String(),
  description: Nullable(Type.String()),
  header_names: Type.Array(Type.String(), { description: 'Names of the headers, whose values are not shown.' }),
  allowed_tools: Nullable(McpAllowedTools),
  require_approval: McpApproval,
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
});

export type McpServerResource = Static<typeof McpServerResource>;

/** Path of one server. */
export const McpServerParams = Type.Object({ server_id: Type.String() });

/** Answer of `DELETE /v1/mcp-servers/{server_id}`. */
export const DeletedMcpServer = deletedSchema('mcp_server');

titleSchemas({ CreateMcpServer, UpdateMcpServer, McpServerResource, DeletedMcpServer });
