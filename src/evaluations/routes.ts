import { listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { KnowledgeBaseParams } from '../knowledge-bases/schema.ts';
import { createEvaluation, type EvaluationDeps } from './create-evaluation.ts';
import {
  cancelEvaluation,
  compareWith,
  deleteEvaluation,
  getEvaluation,
  listEvaluations,
  listResults,
} from './manage-evaluations.ts';
import * as schemas from './schema.ts';

const tags = ['Evaluations'];
const config = { scope: 'knowledge' } as const;
const PATH = '/v1/knowledge-bases/:kb_id/evaluations';
const ONE = `${PATH}/:evaluation_id` as const;
const params = schemas.EvaluationParams;
const response = { 200: schemas.EvaluationResource };

/** Routes under `/v1/knowledge-bases/{kb_id}/evaluations`. */
export function evaluationRoutes(app: App, deps: EvaluationDeps): void {
  app.post(
    PATH,
    {
      schema: {
        summary: 'Evaluate a knowledge base',
        description:
          'Searches and answers questions in the background, and compares the results with what each question expects. The questions are given, read from a file or a question set, or generated from documents. Calls are billed as those of the API.',
        tags,
        params: KnowledgeBaseParams,
        body: schemas.CreateEvaluation,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createEvaluation(deps, toCall(request), request.params.kb_id, request.body),
  );
  app.get(
    PATH,
    {
      schema: {
        summary: 'List the evaluations of a knowledge base',
        tags,
        params: KnowledgeBaseParams,
        querystring: schemas.EvaluationListQuery,
        response: { 200: listSchema(schemas.EvaluationResource) },
      },
      config,
    },
    async (request) => listEvaluations(deps, toCall(request), request.params.kb_id, request.query),
  );
  app.get(ONE, { schema: { summary: 'One evaluation', tags, params, response }, config }, async (request) =>
    getEvaluation(deps, toCall(request), request.params),
  );
  changeRoutes(app, deps);
  resultRoutes(app, deps);
}

function changeRoutes(app: App, deps: EvaluationDeps): void {
  app.delete(
    ONE,
    {
      schema: {
        summary: 'Delete an evaluation',
        description: 'Also deletes its results. Stops a running evaluation.',
        tags,
        params,
        response: { 200: schemas.DeletedEvaluation },
      },
      config,
    },
    async (request) => deleteEvaluation(deps, toCall(request), request.params),
  );
  app.post(
    `${ONE}/cancel`,
    {
      schema: {
        summary: 'Cancel an evaluation',
        description: 'Waits for questions in progress. Results are kept.',
        tags,
        params,
        response,
      },
      config,
    },
    async (request) => cancelEvaluation(deps, toCall(request), request.params),
  );
}

function resultRoutes(app: App, deps: EvaluationDeps): void {
  app.get(
    `${ONE}/results`,
    {
      schema: {
        summary: 'List the results of an evaluation by question',
        tags,
        params,
        querystring: schemas.ResultListQuery,
        response: { 200: listSchema(schemas.EvaluationResult) },
      },
      config,
    },
    async (request) => listResults(deps, toCall(request), request.params, request.query),
  );
  app.get(
    `${ONE}/compare`,
    {
      schema: {
        summary: 'Compare an evaluation with another',
        description:
          'Compares two evaluations of any knowledge bases of the organization by their common questions. Intervals are from a paired bootstrap.',
        tags,
        params,
        querystring: schemas.CompareQuery,
        response: { 200: schemas.EvaluationComparison },
      },
      config,
    },
    async (request) => compareWith(deps, toCall(request), request.params, request.query.baseline),
  );
}
