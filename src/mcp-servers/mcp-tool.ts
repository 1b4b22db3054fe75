import { type Static, Type } from 'typebox';
import { guardBody } from '../http/body-guard.ts';
import { isRecord } from '../lib/json.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { truncateText } from '../lib/truncate.ts';

/** Characters of the name of a tool, as in the protocol. */
const MAX_NAME_CHARACTERS = 128;
/** Characters of a description that models read. */
const MAX_DESCRIPTION_CHARACTERS = 4_096;
/** Characters of a schema as JSON; larger ones do not fit into a prompt beside others. */
const MAX_SCHEMA_CHARACTERS = 32_768;
/** Annotations about the effects of a tool. Other annotations are for displays. */
const HINTS = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

const JsonObject = Type.Record(Type.String(), Type.Unknown());

/** A tool of an MCP server. */
export const McpTool = Type.Object({
  name: Type.String(),
  description: Type.Union([Type.String(), Type.Null()]),
  input_schema: JsonObject,
  annotations: Type.Union([JsonObject, Type.Null()]),
});

export type McpTool = Static<typeof McpTool>;

titleSchemas({ McpTool });

/** Schema of arguments that may be anything. */
export const ANY_ARGUMENTS = { type: 'object' } as const;

/**
 * Reads a tool from the list of a server. Null: it has no usable name. A schema that is no schema of an object, too
 * large or too deep becomes one that allows any arguments, because the server checks them itself.
 */
export function parseMcpTool(listed: unknown): McpTool | null {
  if (!isRecord(listed)) return null;
  const { name, description, inputSchema, annotations } = listed;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_CHARACTERS || !name.isWellFormed()) return null;
  return {
    name,
    description:
      typeof description === 'string' ? truncateText(description.toWellFormed(), MAX_DESCRIPTION_CHARACTERS) : null,
    input_schema: isUsableSchema(inputSchema) ? inputSchema : { ...ANY_ARGUMENTS },
    annotations: isRecord(annotations) ? pickHints(annotations) : null,
  };
}

function isUsableSchema(schema: unknown): schema is Record<string, unknown> {
  if (!isRecord(schema) || schema['type'] !== 'object') return false;
  try {
    guardBody(schema);
    return JSON.stringify(schema).length <= MAX_SCHEMA_CHARACTERS;
  } catch {
    return false;
  }
}

function pickHints(annotations: Record<string, unknown>): Record<string, unknown> {
  const hints = HINTS.flatMap((hint): [string, unknown][] => {
    const value = annotations[hint];
    if (typeof value === 'boolean') return [[hint, value]];
    return typeof value === 'string' ? [[hint, truncateText(value.toWellFormed(), MAX_NAME_CHARACTERS)]] : [];
  });
  return Object.fromEntries(hints);
}
