import { listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { listBlocks } from './blocks.ts';
import {
  createPolicy,
  deletePolicy,
  findPolicy,
  listPolicies,
  type PolicyDeps,
  updatePolicy,
  viewPolicy,
} from './manage-policies.ts';
import {
  BlockQuery,
  CreatePolicy,
  DeletedPolicy,
  GuardrailBlock,
  GuardrailPolicy,
  PolicyListQuery,
  PolicyParams,
  PolicyTest,
  TestPolicy,
  UpdatePolicy,
} from './schema.ts';
import { type PolicyTestDeps, testPolicy } from './test-policy.ts';

const tags = ['Guardrails'];
const config = { scope: 'guardrails' } as const;
const params = PolicyParams;
const response = { 200: GuardrailPolicy };

/** `/v1/guardrail-policies`: `POST`, `GET`, `PUT`, `DELETE`, and the dry run; `GET /v1/guardrail-blocks`. */
export function guardrailRoutes(app: App, deps: PolicyDeps & PolicyTestDeps): void {
  app.post(
    '/v1/guardrail-policies',
    {
      schema: {
        summary: 'Create a guardrail policy',
        description:
          'The newest enabled policy of an organization applies to all its inference calls, within a second. The output of streams is not screened.',
        tags,
        body: CreatePolicy,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createPolicy(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/guardrail-policies',
    {
      schema: {
        summary: 'List the guardrail policies',
        tags,
        querystring: PolicyListQuery,
        response: { 200: listSchema(GuardrailPolicy) },
      },
      config,
    },
    async (request) => listPolicies(deps, toCall(request).caller.organizationId, request.query),
  );
  app.get(
    '/v1/guardrail-policies/:policy_id',
    { schema: { summary: 'Get a guardrail policy', tags, params, response }, config },
    async (request) =>
      viewPolicy(await findPolicy(deps, toCall(request).caller.organizationId, request.params.policy_id)),
  );
  app.put(
    '/v1/guardrail-policies/:policy_id',
    { schema: { summary: 'Change a guardrail policy', tags, params, body: UpdatePolicy, response }, config },
    async (request) => updatePolicy(deps, toCall(request), request.params.policy_id, request.body),
  );
  app.delete(
    '/v1/guardrail-policies/:policy_id',
    { schema: { summary: 'Delete a guardrail policy', tags, params, response: { 200: DeletedPolicy } }, config },
    async (request) => deletePolicy(deps, toCall(request), request.params.policy_id),
  );
  testRoute(app, deps);
  blockRoute(app, deps);
}

function testRoute(app: App, deps: PolicyTestDeps): void {
  app.post(
    '/v1/guardrail-policies/:policy_id/test',
    {
      schema: {
        summary: 'Test a guardrail policy',
        description: 'Evaluates texts without calling a model or recording usage. The policy may be disabled.',
        tags,
        params,
        body: TestPolicy,
        response: { 200: PolicyTest },
      },
      config,
    },
    async (request) => testPolicy(deps, toCall(request).caller.organizationId, request.params.policy_id, request.body),
  );
}

function blockRoute(app: App, deps: PolicyDeps): void {
  app.get(
    '/v1/guardrail-blocks',
    {
      schema: {
        summary: 'List blocked texts',
        description:
          'Inputs and outputs that policies have blocked in the last 30 days, without their text. Oldest first unless `order` is `desc`.',
        tags,
        querystring: BlockQuery,
        response: { 200: listSchema(GuardrailBlock) },
      },
      config,
    },
    async (request) => listBlocks(deps, toCall(request).caller.organizationId, request.query),
  );
}
