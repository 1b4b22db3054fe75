import { type Static, Type } from 'typebox';
import { deletedSchema, ListOrder, ListQuery } from '../db/page.ts';
import { UnixSeconds } from '../http/schema-types.ts';
import { KnowledgeBaseParams } from '../knowledge-bases/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum number of questions of an evaluation or a question set. */
export const MAX_QUESTIONS = 1_000;
/** Maximum number of questions generated for one evaluation: each takes two calls of the chat model. */
const MAX_GENERATED = 200;
const MAX_FACT_CHARACTERS = 1_000;

const Fact = Type.String({ minLength: 1, maxLength: MAX_FACT_CHARACTERS });

/** A question with what its answer and its search are compared with. */
export const Question = Type.Object(
  {
    question: Type.String({ minLength: 1, maxLength: 4_000 }),
    answer: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_FACT_CHARACTERS, description: 'A fact.' })),
    facts: Type.Optional(
      Type.Array(Type.Union([Fact, Type.Array(Fact, { minItems: 1, maxItems: 16 })]), {
        minItems: 1,
        maxItems: 16,
        description:
          'Texts that the answer must contain, all of them; a list names alternatives. Case, quotes, punctuation and separators of numbers are ignored.',
      }),
    ),
    document: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: 'Name or id of the document with the answer.' }),
    ),
    passage: Type.Optional(
      Type.String({ minLength: 1, maxLength: 20_000, description: 'The passage with the answer, as in the document.' }),
    ),
    unanswerable: Type.Optional(
      Type.Boolean({ description: 'Whether the documents do not hold the answer: the model should say so.' }),
    ),
  },
  { examples: [{ question: 'When does the library open?', answer: 'nine', document: 'handbook.pdf' }] },
);

export type Question = Static<typeof Question>;

const Questions = Type.Array(Question, { minItems: 1, maxItems: MAX_QUESTIONS });

/** How an evaluation searches and answers. */
export const EvaluationConfiguration = Type.Object(
  {
    model: Type.Optional(
      Type.String({ minLength: 1, description: 'Chat model that answers. Absent: only the search is measured.' }),
    ),
    search_type: Type.Optional(Type.Enum(['hybrid', 'vector', 'keyword'])),
    hybrid_weight: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "Weight of the vectors; the embedding model's unless given.",
      }),
    ),
    top_k: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 50, description: 'Chunks that the model answers from; 10 unless given.' }),
    ),
    rerank: Type.Optional(Type.Boolean()),
    rerank_model: Type.Optional(Type.String({ minLength: 1 })),
  },
  { description: 'Absent fields are as in chats with the knowledge base.' },
);

export type EvaluationConfiguration = Static<typeof EvaluationConfiguration>;

const Generation = Type.Object({
  count: Type.Integer({ minimum: 1, maximum: MAX_GENERATED, description: 'Passages that are sampled.' }),
  model: Type.String({ minLength: 1, description: 'Chat model that writes the questions.' }),
});

const Name = Type.String({ minLength: 1, maxLength: 256 });
const nullable = <T extends Parameters<typeof Type.Array>[0]>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
const JudgeModel = nullable(
  Type.String({ minLength: 1 }),
  'Chat model that scores answers against their reference. Null: no model does.',
);
const BaselineId = Type.String({ description: 'An evaluation to compare with, of any knowledge base.' });

/** The configuration of a run of a question set: what differs from the configuration of the set. */
const ConfigurationChanges = Type.Object(
  {
    ...EvaluationConfiguration.properties,
    model: Type.Optional(nullable(Type.String({ minLength: 1 }))),
    hybrid_weight: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
  },
  { description: 'Beside a question set: what differs from its configuration; null removes a field.' },
);

/** Body of `POST /v1/knowledge-bases/{kb_id}/evaluations`. */
export const CreateEvaluation = Type.Object(
  {
    name: Type.Optional(Name),
    questions: Type.Optional(Questions),
    file_id: Type.Optional(
      Type.String({ description: 'An uploaded JSONL file of any purpose, with one question per line.' }),
    ),
    question_set_id: Type.Optional(Type.String()),
    generate: Type.Optional(Generation),
    configuration: Type.Optional(ConfigurationChanges),
    judge_model: Type.Optional(JudgeModel),
    baseline_id: Type.Optional(BaselineId),
    seed: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0, description: 'Of samples and of comparisons.' }),
    ),
  },
  {
    examples: [
      {
        questions: [{ question: 'When does the library open?', answer: 'nine' }],
        configuration: { model: 'general-8b', rerank: true },
      },
    ],
  },
);

export type CreateEvaluation = Static<typeof CreateEvaluation>;

const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;

/** State of an evaluation. */
export type EvaluationStatus = (typeof STATUSES)[number];

const EvaluationError = Type.Object({ code: Type.String(), message: Type.String() });

const Verdict = Type.Enum(['better', 'worse', 'mixed', 'unclear'], {
  description: '`unclear`: the difference may be chance. `mixed`: some measures are better, others worse.',
});

/** Comparison of two evaluations. */
export const EvaluationComparison = Type.Object({
  baseline_id: Type.String(),
  baseline_knowledge_base_id: Type.String(),
  questions: Type.Integer({ description: 'Questions that both evaluations have.' }),
  verdict: Verdict,
  judged: Type.Enum(['neither', 'both', 'baseline_only', 'evaluation_only', 'different_models'], {
    description:
      'Which of the two were scored by a judge model. Its measures are compared only if one model scored `both`, on the questions with two verdicts.',
  }),
  measures: Type.Array(
    Type.Object({
      name: Type.String(),
      baseline: Type.Number(),
      value: Type.Number(),
      difference: Type.Number(),
      low: Type.Number({ description: 'Interval of the difference; all intervals hold together with 95 %.' }),
      high: Type.Number(),
      verdict: Type.Enum(['better', 'worse', 'unclear']),
    }),
  ),
});

export type EvaluationComparison = Static<typeof EvaluationComparison>;

const Latency = Type.Object({ p50: nullable(Type.Number()), p95: nullable(Type.Number()) });

/** Figures of an evaluation that has ended. */
export const EvaluationSummary = Type.Object({
  measures: Type.Array(Type.Object({ name: Type.String(), value: Type.Number(), questions: Type.Integer() })),
  latency_ms: Type.Object({ retrieval: Latency, answer: Latency }),
});

export type EvaluationSummary = Static<typeof EvaluationSummary>;

/** The evaluation object. */
export const EvaluationResource = Type.Object({
  id: Type.String(),
  object: Type.Literal('evaluation'),
  knowledge_base_id: Type.String(),
  name: Type.String(),
  question_set_id: nullable(Type.String()),
  status: Type.Enum([...STATUSES]),
  configuration: EvaluationConfiguration,
  generate: nullable(Generation),
  judge_model: JudgeModel,
  seed: Type.Integer(),
  question_counts: Type.Object({
    total: Type.Integer(),
    completed: Type.Integer(),
    failed: Type.Integer(),
    dropped: Type.Integer({ description: 'Generated questions that the passage did not answer.' }),
  }),
  summary: nullable(EvaluationSummary, 'Null until the evaluation has completed.'),
  cost_micros: Type.Integer({ description: '1,000,000 micros are one credit.' }),
  baseline_id: nullable(Type.String()),
  comparison: nullable(EvaluationComparison, 'With the baseline; null until both have completed.'),
  error: nullable(EvaluationError),
  created_at: UnixSeconds,
  started_at: nullable(UnixSeconds),
  ended_at: nullable(UnixSeconds),
});

export type EvaluationResource = Static<typeof EvaluationResource>;

/** The score that a judge model gave an answer. */
export const Judgement = Type.Object({
  verdict: nullable(Type.Enum(['right', 'wrong', 'declined']), 'Null if the judge model gave no valid verdict.'),
  reason: nullable(Type.String()),
  error: nullable(EvaluationError),
});

export type Judgement = Static<typeof Judgement>;

/** The result of one question. */
export const EvaluationResult = Type.Object({
  id: Type.String(),
  object: Type.Literal('evaluation_result'),
  question: Question,
  status: Type.Enum(['pending', 'completed', 'failed', 'dropped']),
  error: nullable(EvaluationError),
  measures: Type.Record(Type.String(), Type.Number()),
  evidence_ranks: Type.Array(nullable(Type.Integer()), {
    description: 'Rank at which each part of the evidence was retrieved; null if it is not among the first 20.',
  }),
  hits: Type.Array(
    Type.Object({
      chunk_id: Type.String(),
      document_id: Type.String(),
      document_name: Type.String(),
      score: Type.Number(),
      text: Type.String({ description: 'The beginning of the chunk.' }),
    }),
    { description: 'The first five.' },
  ),
  answer: nullable(Type.String()),
  cited_chunk_ids: Type.Array(Type.String()),
  judgement: nullable(Judgement, 'Null if no judge model scored the answer.'),
});

export type EvaluationResult = Static<typeof EvaluationResult>;

const QuestionSetFields = {
  name: Name,
  questions: Questions,
  schedule: nullable(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        "When the set is run again and compared with its last run: 'after_sync', an interval such as '1d', or a cron expression in UTC. Null: never.",
    }),
  ),
  configuration: EvaluationConfiguration,
  judge_model: JudgeModel,
};

/** Body of `POST /v1/knowledge-bases/{kb_id}/question-sets`. */
export const CreateQuestionSet = Type.Object(
  {
    name: QuestionSetFields.name,
    questions: QuestionSetFields.questions,
    schedule: Type.Optional(QuestionSetFields.schedule),
    configuration: Type.Optional(QuestionSetFields.configuration),
    judge_model: Type.Optional(JudgeModel),
  },
  { examples: [{ name: 'Opening hours', questions: [{ question: 'When does the library open?', answer: 'nine' }] }] },
);

export type CreateQuestionSet = Static<typeof CreateQuestionSet>;

/** Body of `PATCH /v1/knowledge-bases/{kb_id}/question-sets/{question_set_id}`. */
export const UpdateQuestionSet = Type.Object({
  name: Type.Optional(QuestionSetFields.name),
  questions: Type.Optional(QuestionSetFields.questions),
  add_questions: Type.Optional(Type.Array(Question, { ...Questions, description: 'Questions to append.' })),
  schedule: Type.Optional(QuestionSetFields.schedule),
  configuration: Type.Optional(QuestionSetFields.configuration),
  judge_model: Type.Optional(JudgeModel),
});

export type UpdateQuestionSet = Static<typeof UpdateQuestionSet>;

const ListedSet = {
  id: Type.String(),
  object: Type.Literal('question_set'),
  knowledge_base_id: Type.String(),
  name: Type.String(),
  question_count: Type.Integer(),
  schedule: QuestionSetFields.schedule,
  configuration: EvaluationConfiguration,
  judge_model: JudgeModel,
  last_verdict: nullable(Verdict, 'Of the newest run that was compared with the run before.'),
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
};

/** A question set in a list: without its questions. */
export const ListedQuestionSet = Type.Object(ListedSet);

export type ListedQuestionSet = Static<typeof ListedQuestionSet>;

/** The question set object. */
export const QuestionSet = Type.Object({ ...ListedSet, questions: Type.Array(Question) });

export type QuestionSet = Static<typeof QuestionSet>;

/** Path parameters of one evaluation. */
export const EvaluationParams = Type.Object({ ...KnowledgeBaseParams.properties, evaluation_id: Type.String() });

export type EvaluationParams = Static<typeof EvaluationParams>;

/** Path parameters of one question set. */
export const QuestionSetParams = Type.Object({ ...KnowledgeBaseParams.properties, question_set_id: Type.String() });

export type QuestionSetParams = Static<typeof QuestionSetParams>;

/** Query parameters of the lists. */
export const EvaluationListQuery = Type.Object({ ...ListQuery.properties, order: ListOrder });

export type EvaluationListQuery = Static<typeof EvaluationListQuery>;

/** Query parameters of the list of results. */
export const ResultListQuery = ListQuery;

/** Query parameters of a comparison. */
export const CompareQuery = Type.Object({ baseline: BaselineId });

/** Response to the deletion of an evaluation. */
export const DeletedEvaluation = deletedSchema('evaluation');
/** Response to the deletion of a question set. */
export const DeletedQuestionSet = deletedSchema('question_set');

titleSchemas({
  Question,
  EvaluationConfiguration,
  ConfigurationChanges,
  CreateEvaluation,
  EvaluationComparison,
  EvaluationSummary,
  Evaluation: EvaluationResource,
  EvaluationResult,
  Judgement,
  CreateQuestionSet,
  UpdateQuestionSet,
  ListedQuestionSet,
  QuestionSet,
  DeletedEvaluation,
  DeletedQuestionSet,
});
