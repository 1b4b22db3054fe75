import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { RequestParams } from '../schema.ts';
import { getRecording, readContents, removeContents, updateRecording } from './manage-contents.ts';
import { DeletedContents, RequestContents, RequestRecording, UpdateRequestRecording } from './schema.ts';

const tags = ['Usage'];
const config = { scope: 'keys' } as const;

/** Routes of recorded contents and of the recording settings. */
export function contentRoutes(app: App, deps: Pick<Deps, 'db' | 'now'>): void {
  settingsRoutes(app, deps);
  app.get(
    '/v1/requests/:request_id/contents',
    {
      schema: {
        summary: 'Get the contents of a request',
        description:
          'Returns the recorded prompt and answer. Any key can read the contents of its own requests. The scope `keys` is required for all other requests of the organization.',
        tags,
        params: RequestParams,
        response: { 200: RequestContents },
      },
    },
    async (request) => readContents(deps, toCall(request).caller, request.params.request_id),
  );
  app.delete(
    '/v1/requests/:request_id/contents',
    {
      schema: {
        summary: 'Delete the contents of a request',
        description: 'Keeps the request itself. Requires an owner of the organization.',
        tags,
        params: RequestParams,
        response: { 200: DeletedContents },
      },
      config,
    },
    async (request) => removeContents(deps, toCall(request), request.params.request_id),
  );
  app.delete(
    '/v1/request-recording/contents',
    {
      schema: {
        summary: 'Delete all recorded contents',
        description:
          'Deletes the contents of all requests of the organization. Requires an owner. If recording is enabled, contents of the last second may still be stored afterwards.',
        tags,
        response: { 200: DeletedContents },
      },
      config,
    },
    async (request) => removeContents(deps, toCall(request)),
  );
}

function settingsRoutes(app: App, deps: Pick<Deps, 'db'>): void {
  const response = { 200: RequestRecording };
  app.get(
    '/v1/request-recording',
    {
      schema: { summary: 'Get the recording settings', tags, response },
      config: { ...config, openToUsers: true },
    },
    async (request) => getRecording(deps, toCall(request)),
  );
  app.patch(
    '/v1/request-recording',
    {
      schema: {
        summary: 'Change the recording settings',
        description:
          'Requires an owner of the organization. Recording starts within a second after it is enabled. After the response to a request that disables it, no contents are stored.',
        tags,
        body: UpdateRequestRecording,
        response,
      },
      config,
    },
    async (request) => updateRecording(deps, toCall(request), request.body),
  );
}
