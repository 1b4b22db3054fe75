import { type Static, Type } from 'typebox';
import { deletedSchema, ListOrder, ListQuery } from '../db/page.ts';
import { mapCategories } from '../engines/moderation-engine.ts';
import { MUST } from '../http/validation.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Characters of a policy's name. */
const MAX_NAME_CHARACTERS = 256;
/** Entries of a deny list. */
const MAX_TOPICS = 1_000;
/** Characters of a topic. */
const MAX_TOPIC_CHARACTERS = 256;
/** Characters of a text of a dry run: one that is matched in one piece, so that offsets hold. */
const MAX_TEST_CHARACTERS = 100_000;
/** Texts of one dry run, as in a moderation request. */
const MAX_TEST_TEXTS = 1_024;

const Threshold = Type.Number({ minimum: 0, maximum: 1 });
const OptionalThreshold = Type.Optional(Type.Union([Threshold, Type.Null()]));

const Thresholds = Type.Object(
  mapCategories(() => OptionalThreshold),
  {
    description: 'A score at or above the threshold flags the text. Null and absent: 0.5. 1.0 disables the category.',
  },
);

const TopicRule = Type.Object({
  topic: Type.String({ minLength: 1, maxLength: MAX_TOPIC_CHARACTERS }),
  action: Type.Enum(['block', 'warn'], {
    description: '`block` blocks when `block_on_flag` is true. `warn` always passes, with a flag on the response.',
  }),
});

const TopicDenyList = Type.Array(TopicRule, {
  maxItems: MAX_TOPICS,
  description:
    'Case, presentation forms, invisible characters and the kind and number of blanks are ignored. A topic without spaces matches as a whole word, one with spaces as a substring. Scripts without spaces between words, such as Han and Thai, match as a substring.',
});

const MatchConfusables = Type.Boolean({
  description:
    'Whether topics also match text that looks like them, such as Cyrillic `а` for `a` and `0` for `O` (skeletons of UTS 39, Unicode 13). Adds false matches: `corn` matches `com`. Default: false.',
});

const ApplyTo = Type.Array(Type.Enum(['input', 'output', 'both']), {
  minItems: 1,
  maxItems: 3,
  uniqueItems: true,
  description:
    'Default: `["input"]`. `output` screens complete responses only: the output of a stream (`stream: true`) is not screened.',
});

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });

/** Body of `POST /v1/guardrail-policies`. */
export const CreatePolicy = Type.Object(
  {
    name: Name,
    enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    block_on_flag: Type.Optional(
      Type.Boolean({ description: 'Default: true. False: flagged content passes with a warning header.' }),
    ),
    thresholds: Type.Optional(Thresholds),
    topic_deny_list: Type.Optional(TopicDenyList),
    match_confusables: Type.Optional(MatchConfusables),
    apply_to: Type.Optional(ApplyTo),
  },
  {
    examples: [
      {
        name: 'Department',
        thresholds: { violence: 0.7, sexual: 1.0 },
        topic_deny_list: [{ topic: 'project falcon', action: 'block' }],
        apply_to: ['both'],
      },
    ],
  },
);

export type CreatePolicy = Static<typeof CreatePolicy>;

/** Body of `PUT /v1/guardrail-policies/{policy_id}`: the fields to change. */
export const UpdatePolicy = Type.Partial(CreatePolicy, {
  description: 'Absent fields keep their values. `thresholds` is merged by category; lists are replaced.',
});

export type UpdatePolicy = Static<typeof UpdatePolicy>;

/** A guardrail policy. */
export const GuardrailPolicy = Type.Object({
  id: Type.String(),
  object: Type.Literal('guardrail_policy'),
  name: Type.String(),
  enabled: Type.Boolean(),
  block_on_flag: Type.Boolean(),
  thresholds: Type.Object(mapCategories(() => Threshold)),
  topic_deny_list: TopicDenyList,
  match_confusables: MatchConfusables,
  apply_to: ApplyTo,
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  updated_at: Type.Integer({ description: 'Unix seconds.' }),
});

export type GuardrailPolicy = Static<typeof GuardrailPolicy>;

/** Answer of `DELETE /v1/guardrail-policies/{policy_id}`. */
export const DeletedPolicy = deletedSchema('guardrail_policy');

/** Query parameters of `GET /v1/guardrail-policies`. */
export const PolicyListQuery = Type.Object({ ...ListQuery.properties, order: ListOrder });

export type PolicyListQuery = Static<typeof PolicyListQuery>;

/** Path of one policy. */
export const PolicyParams = Type.Object({ policy_id: Type.String() });

const TestText = Type.String({ maxLength: MAX_TEST_CHARACTERS });

/** Body of `POST /v1/guardrail-policies/{policy_id}/test`. */
export const TestPolicy = Type.Object(
  {
    input: Type.Union([TestText, Type.Array(TestText, { minItems: 1, maxItems: MAX_TEST_TEXTS })]),
    stage: Type.Optional(
      Type.Enum(['input', 'output'], { description: 'Default: `input`. A policy passes what it does not apply to.' }),
    ),
  },
  { examples: [{ input: 'Tell me about Project Falcon.' }] },
);

export type TestPolicy = Static<typeof TestPolicy>;

/** Result of a dry run for one text. */
export const PolicyTestResult = Type.Object({
  flagged: Type.Boolean(),
  action: Type.Enum(['pass', 'warn', 'block']),
  reasons: Type.Array(Type.String()),
  category_scores: Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()], {
    description: 'Null when all categories are disabled, or the policy does not apply to the stage.',
  }),
  topics: Type.Array(
    Type.Object({
      topic: Type.String(),
      action: Type.Enum(['block', 'warn']),
      start_index: Type.Integer({
        description:
          'Offset in `normalized_text`, in UTF-16 code units. Where only lookalikes match (`match_confusables`): of the words that contain the match.',
      }),
      end_index: Type.Integer(),
    }),
  ),
  normalized_text: Type.String({ description: 'The text as topics are matched against it.' }),
});

/** Answer of `POST /v1/guardrail-policies/{policy_id}/test`. */
export const PolicyTest = Type.Object({
  object: Type.Literal('guardrail_policy.test'),
  policy_id: Type.String(),
  stage: Type.Enum(['input', 'output']),
  results: Type.Array(PolicyTestResult),
});

export type PolicyTest = Static<typeof PolicyTest>;

/** A blocked input or output, without its text. */
export const GuardrailBlock = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('guardrail_block'),
    policy_id: Type.String({ description: 'The policy may have been changed or deleted since.' }),
    key_id: Type.String({ description: 'The key, or the user of a console session.' }),
    request_id: Type.String({ description: 'The `x-request-id` of the request.' }),
    route: Type.String(),
    model: Type.String({ description: 'The requested model.' }),
    stage: Type.Enum(['input', 'output']),
    reasons: Type.Array(Type.String(), { description: 'Categories and topics of the policy, never the text.' }),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
  },
  {
    examples: [
      {
        id: 'gb_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'guardrail_block',
        policy_id: 'gp_01kaj3v0b8s4x2m6n9p1q5r7t3',
        key_id: 'key_01kaj3v0b8s4x2m6n9p1q5r7t3',
        request_id: 'req_01kaj3v0b8s4x2m6n9p1q5r7t3',
        route: '/v1/chat/completions',
        model: 'general-8b',
        stage: 'input',
        reasons: ["topic 'project falcon' (block)"],
        created_at: 1_763_683_200,
      },
    ],
  },
);

export type GuardrailBlock = Static<typeof GuardrailBlock>;

/** Query parameters of `GET /v1/guardrail-blocks`. */
export const BlockQuery = Type.Object({
  ...ListQuery.properties,
  order: ListOrder,
  policy_id: Type.Optional(
    Type.String({
      pattern: '^gp_[0-9a-z]{26}$',
      [MUST]: 'be the id of a guardrail policy',
      description: 'Only blocks by this policy.',
    }),
  ),
});

export type BlockQuery = Static<typeof BlockQuery>;

titleSchemas({
  GuardrailBlock,
  CreatePolicy,
  UpdatePolicy,
  GuardrailPolicy,
  DeletedPolicy,
  TestPolicy,
  PolicyTestResult,
  PolicyTest,
});
