import { listSchema } from '../../db/page.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import type { AccountAdminDeps } from '../admin-deps.ts';
import {
  createOrganization,
  deleteOrganization,
  findOrganization,
  listOrganizations,
  updateOrganization,
} from './manage-organizations.ts';
import {
  CreateOrganization,
  DeletedOrganization,
  Organization,
  OrganizationParams,
  OrganizationsQuery,
  UpdateOrganization,
} from './schema.ts';

const tags = ['Admin'];
const config = { scope: 'admin' } as const;
const params = OrganizationParams;
const response = { 200: Organization };
const description = 'Requires the scope `admin`.';

/** `/v1/admin/organizations`: `POST`, `GET`, `PATCH` and `DELETE`. */
export function organizationRoutes(app: App, deps: Pick<AccountAdminDeps, 'db' | 'now' | 'evictKeys'>): void {
  app.post(
    '/v1/admin/organizations',
    {
      schema: {
        summary: 'Create an organization',
        description: `Organizations own keys and data, isolated from each other. ${description}`,
        tags,
        body: CreateOrganization,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createOrganization(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/admin/organizations',
    {
      schema: {
        summary: 'List the organizations',
        description,
        tags,
        querystring: OrganizationsQuery,
        response: { 200: listSchema(Organization) },
      },
      config,
    },
    async (request) => listOrganizations(deps, request.query),
  );
  app.get(
    '/v1/admin/organizations/:organization_id',
    { schema: { summary: 'Get an organization', description, tags, params, response }, config },
    async (request) => findOrganization(deps, request.params.organization_id),
  );
  app.patch(
    '/v1/admin/organizations/:organization_id',
    {
      schema: {
        summary: 'Change an organization',
        description: `Changes take effect in every process within a second. ${description}`,
        tags,
        params,
        body: UpdateOrganization,
        response,
      },
      config,
    },
    async (request) => updateOrganization(deps, toCall(request), request.params.organization_id, request.body),
  );
  deletionRoute(app, deps);
}

function deletionRoute(app: App, deps: Pick<AccountAdminDeps, 'db' | 'now' | 'evictKeys'>): void {
  app.delete(
    '/v1/admin/organizations/:organization_id',
    {
      schema: {
        summary: 'Delete an organization',
        description: `Every process rejects its keys at once. Its files, knowledge bases, batches, responses and policies are deleted in the background, within seconds; usage, credit transactions and the audit log stay. May be repeated. The default organization and the one of the calling key cannot be deleted. ${description}`,
        tags,
        params,
        response: { 200: DeletedOrganization },
      },
      config,
    },
    async (request) => deleteOrganization(deps, toCall(request), request.params.organization_id),
  );
}
