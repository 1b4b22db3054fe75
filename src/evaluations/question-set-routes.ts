import { listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { KnowledgeBaseParams } from '../knowledge-bases/schema.ts';
import type { EvaluationDeps } from './create-evaluation.ts';
import {
  createQuestionSet,
  deleteQuestionSet,
  getQuestionSet,
  listQuestionSets,
  updateQuestionSet,
} from './manage-question-sets.ts';
import * as schemas from './schema.ts';

const tags = ['Evaluations'];
const config = { scope: 'knowledge' } as const;
const PATH = '/v1/knowledge-bases/:kb_id/question-sets';
const ONE = `${PATH}/:question_set_id` as const;
const params = schemas.QuestionSetParams;
const response = { 200: schemas.QuestionSet };

/** Routes under `/v1/knowledge-bases/{kb_id}/question-sets`. */
export function questionSetRoutes(app: App, deps: EvaluationDeps): void {
  app.post(
    PATH,
    {
      schema: {
        summary: 'Save a question set',
        tags,
        params: KnowledgeBaseParams,
        body: schemas.CreateQuestionSet,
        response,
      },
      config: { ...config, idempotent: true },
    },
    async (request) => createQuestionSet(deps, toCall(request), request.params.kb_id, request.body),
  );
  app.get(
    PATH,
    {
      schema: {
        summary: 'List the question sets of a knowledge base',
        tags,
        params: KnowledgeBaseParams,
        querystring: schemas.EvaluationListQuery,
        response: { 200: listSchema(schemas.ListedQuestionSet) },
      },
      config,
    },
    async (request) => listQuestionSets(deps, toCall(request), request.params.kb_id, request.query),
  );
  app.get(ONE, { schema: { summary: 'One question set', tags, params, response }, config }, async (request) =>
    getQuestionSet(deps, toCall(request), request.params),
  );
  changeRoutes(app, deps);
}

function changeRoutes(app: App, deps: EvaluationDeps): void {
  app.patch(
    ONE,
    {
      schema: {
        summary: 'Change a question set',
        description: 'Scheduled runs have the permissions of the key that changed the set last.',
        tags,
        params,
        body: schemas.UpdateQuestionSet,
        response,
      },
      config,
    },
    async (request) => updateQuestionSet(deps, toCall(request), request.params, request.body),
  );
  app.delete(
    ONE,
    {
      schema: {
        summary: 'Delete a question set',
        description: 'Keeps the evaluations of the question set.',
        tags,
        params,
        response: { 200: schemas.DeletedQuestionSet },
      },
      config,
    },
    async (request) => deleteQuestionSet(deps, toCall(request), request.params),
  );
}
