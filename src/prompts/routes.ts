import { ListQuery, listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import {
  createPrompt,
  createPromptVersion,
  deletePrompt,
  getPrompt,
  listPrompts,
  listPromptVersions,
  updatePrompt,
} from './manage-prompts.ts';
import { renderPrompt } from './render-prompt.ts';
import {
  CreatePrompt,
  CreatePromptVersion,
  DeletedPrompt,
  PromptListQuery,
  PromptParams,
  PromptQuery,
  PromptRendering,
  PromptResource,
  PromptVersionResource,
  RenderPrompt,
  UpdatePrompt,
} from './schema.ts';

const tags = ['Prompts'];
/** Viewers can have personal prompts. */
const config = { scope: 'inference', openToViewers: true, rateClass: 'general' } as const;
const params = PromptParams;
const response = { 200: PromptResource };
type PromptRouteDeps = Pick<Deps, 'db' | 'now'>;

/** `/v1/prompts`: the prompt library. */
export function promptRoutes(app: App, deps: PromptRouteDeps): void {
  listRoutes(app, deps);
  onePromptRoutes(app, deps);
  versionRoutes(app, deps);
}

function listRoutes(app: App, deps: PromptRouteDeps): void {
  app.post(
    '/v1/prompts',
    {
      schema: {
        summary: 'Create a prompt',
        description: 'Creates a prompt with version 1. A prompt is visible only to its author unless it is shared.',
        tags,
        body: CreatePrompt,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createPrompt(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/prompts',
    {
      schema: {
        summary: 'List prompts',
        description: 'Returns your prompts and the shared prompts of your organization, newest first.',
        tags,
        querystring: PromptListQuery,
        response: { 200: listSchema(PromptResource) },
      },
      config,
    },
    async (request) => listPrompts(deps, toCall(request), request.query),
  );
}

function onePromptRoutes(app: App, deps: PromptRouteDeps): void {
  app.get(
    '/v1/prompts/:prompt_id',
    {
      schema: {
        summary: 'Get a prompt',
        description: 'Returns the prompt with its newest version, or with the version in `version`.',
        tags,
        params,
        querystring: PromptQuery,
        response,
      },
      config,
    },
    async (request) => getPrompt(deps, toCall(request), request.params.prompt_id, request.query.version),
  );
  app.patch(
    '/v1/prompts/:prompt_id',
    {
      schema: {
        summary: 'Change a prompt',
        description: 'Only the author can change a prompt. Owners of the organization can also change shared prompts.',
        tags,
        params,
        body: UpdatePrompt,
        response,
      },
      config,
    },
    async (request) => updatePrompt(deps, toCall(request), request.params.prompt_id, request.body),
  );
  app.delete(
    '/v1/prompts/:prompt_id',
    {
      schema: {
        summary: 'Delete a prompt',
        description: 'Deletes the prompt with all versions. Requires the same permissions as a change.',
        tags,
        params,
        response: { 200: DeletedPrompt },
      },
      config,
    },
    async (request) => deletePrompt(deps, toCall(request), request.params.prompt_id),
  );
}

function versionRoutes(app: App, deps: PromptRouteDeps): void {
  app.post(
    '/v1/prompts/:prompt_id/versions',
    {
      schema: {
        summary: 'Add a version to a prompt',
        description: 'Versions are numbered from 1 and never change.',
        tags,
        params,
        body: CreatePromptVersion,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createPromptVersion(deps, toCall(request), request.params.prompt_id, request.body),
  );
  app.get(
    '/v1/prompts/:prompt_id/versions',
    {
      schema: {
        summary: 'List the versions of a prompt',
        description: 'Returns the versions, newest first.',
        tags,
        params,
        querystring: ListQuery,
        response: { 200: listSchema(PromptVersionResource) },
      },
      config,
    },
    async (request) => listPromptVersions(deps, toCall(request), request.params.prompt_id, request.query),
  );
  app.post(
    '/v1/prompts/:prompt_id/render',
    {
      schema: {
        summary: 'Render a prompt',
        description: 'Returns the text with its variables replaced. Stores nothing.',
        tags,
        params,
        body: RenderPrompt,
        response: { 200: PromptRendering },
      },
      config,
    },
    async (request) => renderPrompt(deps, toCall(request), request.params.prompt_id, request.body),
  );
}
