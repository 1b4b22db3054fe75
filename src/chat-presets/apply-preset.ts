import type { Deps } from '../deps.ts';
import { selectExistingBases } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { runForCaller } from '../lib/organization-context.ts';
import { selectMcpServer } from '../mcp-servers/store.ts';
import type { CreateResponse, RequestTool } from '../responses/schema.ts';
import type { ChatPresetSummary } from './schema.ts';
import { type ChatPresetRow, selectPresetsById } from './store.ts';

/** Fields that a preset adds to the request of a message. */
export interface AppliedPreset {
  /** Null if the user chooses the model. */
  model: string | null;
  /** Knowledge bases of messages without `knowledge_base_ids`. */
  knowledgeBaseIds: readonly string[];
  tools: readonly RequestTool[];
  /** Instructions and parameters. */
  fields: Partial<CreateResponse>;
}

/**
 * Returns the fields that a preset adds to a message of the caller. A preset grants no permissions: the request is
 * checked like any request of the caller. Knowledge bases that the caller may not use are omitted, and so are deleted
 * knowledge bases and servers.
 */
export async function applyPreset(
  { db }: Pick<Deps, 'db'>,
  { caller }: Call,
  { model, instructions, parameters, ...row }: ChatPresetRow,
): Promise<AppliedPreset> {
  const { organizationId } = caller;
  const { reasoning_effort: effort, ...sampling } = parameters;
  const select = () => selectExistingBases(db.sql, organizationId, row.knowledgeBaseIds);
  const usable = await runForCaller(caller, select);
  const tools: RequestTool[] = [];
  for (const { server_id: id, allowed_tools: allowed } of row.tools) {
    const server = await selectMcpServer(db.sql, organizationId, { id });
    if (server === null) continue;
    const limits = allowed == null ? {} : { allowed_tools: allowed };
    const names = { server_label: server.label, connector_id: id };
    // Chats have no approvals. The owner approves the tools by publishing the preset.
    tools.push({ type: 'mcp', ...names, ...limits, require_approval: 'never' });
  }
  return {
    model,
    knowledgeBaseIds: row.knowledgeBaseIds.filter((id) => usable.includes(id)),
    tools,
    fields: {
      ...sampling,
      ...(instructions !== null && { instructions }),
      ...(effort !== undefined && { reasoning: { effort } }),
    },
  };
}

/** Loads summaries of presets by id. The name of a deleted preset is null. */
export async function summarizePresets(
  { db }: Pick<Deps, 'db'>,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, ChatPresetSummary>> {
  const rows = new Map((await selectPresetsById(db.sql, organizationId, ids)).map((row) => [row.id, row]));
  return new Map(
    ids.map((id): [string, ChatPresetSummary] => {
      const row = rows.get(id);
      if (row === undefined) return [id, { id, name: null, state: 'deleted' }];
      return [id, { id, name: row.name, state: row.isPublished ? 'published' : 'unpublished' }];
    }),
  );
}
