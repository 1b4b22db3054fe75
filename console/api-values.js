/**
 * Values of the API description that the console needs at run time: enums and bounds. The build writes them to `src/api/*values.ts`, so that
 * no page repeats a list or a limit of the service. Only what is named here is written: the first load of the console stays small.
 */

/** Path of each value: names of properties and schemas; names of parameters where they are in a list. */
const PAGE_VALUES = {
  ATTACHMENT_LIMITS: 'components schemas AttachmentForm file x-limits',
  AUDIT_ACTIONS: 'paths /v1/admin/audit get parameters action schema enum',
  BATCH_ENDPOINTS: 'components schemas CreateBatch endpoint enum',
  BATCH_LIMITS: 'components schemas CreateBatch input_file_id x-limits',
  BUDGET_PERIODS: 'components schemas CreateKey budget period enum',
  CHUNKING_STRATEGIES: 'components schemas CreateKnowledgeBase chunking_strategy type enum',
  CHUNK_OVERLAP: 'components schemas CreateKnowledgeBase chunking_strategy chunk_overlap',
  CHUNK_SIZE: 'components schemas CreateKnowledgeBase chunking_strategy chunk_size',
  CREDIT_NOTE: 'components schemas AdjustCredits note',
  DATA_SOURCE_NAME: 'components schemas UpdateDataSource name',
  DIRECTIONS: 'components schemas CreatePolicy apply_to items enum',
  DOCUMENT_KEY: 'components schemas PostDocument key',
  INVITATION_NOTE: 'components schemas CreateInvitation note',
  KEY_NAME: 'components schemas CreateKey name',
  KEY_SCOPES: 'components schemas CreateKey scopes items enum',
  KNOWLEDGE_BASE_DESCRIPTION: 'components schemas CreateKnowledgeBase description',
  KNOWLEDGE_BASE_NAME: 'components schemas CreateKnowledgeBase name',
  MIN_SCORE: 'components schemas RetrieveRequest min_score',
  MODEL_SOURCE: 'components schemas PullModel source',
  MODERATION_CATEGORIES: 'components schemas CreatePolicy thresholds properties',
  PASSWORD: 'components schemas ChangePassword new_password',
  POLICY_NAME: 'components schemas CreatePolicy name',
  QUERY: 'components schemas RetrieveRequest query',
  REASONING_EFFORTS: 'components schemas ChatRequest reasoning_effort enum',
  RESPONSE_FORMATS: 'components schemas ChatRequest response_format type enum',
  ROLES: 'components schemas Member role enum',
  SEARCH_TYPES: 'components schemas RetrieveRequest search_type enum',
  STOP_TEXTS: 'components schemas ChatRequest stop',
  TEMPERATURE: 'components schemas ChatRequest temperature',
  TEXT_FORMATS: 'components schemas PostDocument format enum',
  TOOL_CHOICES: 'components schemas ChatRequest tool_choice enum',
  TOP_K: 'components schemas RetrieveRequest top_k',
  TOPIC: 'components schemas CreatePolicy topic_deny_list items topic',
  TOPIC_ACTIONS: 'components schemas CreatePolicy topic_deny_list items action enum',
  TOP_P: 'components schemas ChatRequest top_p',
  USER_NAME: 'components schemas AcceptInvitation name',
};
/** Values that the router needs, and the first load with it. */
const ADDRESS_VALUES = {
  DOCUMENT_STATUSES: 'components schemas Document status enum',
  FILE_PURPOSES: 'components schemas File purpose enum',
  NAME_SEARCH: 'paths /v1/knowledge-bases get parameters search schema',
  SUMMARY_PERIODS: 'paths /v1/usage/summary get parameters period schema enum',
};
/** Bounds of a schema, by the names that the inputs of the console use. */
const BOUNDS = { minimum: 'min', maximum: 'max', minLength: 'minLength', maxLength: 'maxLength', maxItems: 'maxItems' };

/** Returns the modules of the values by name. Throws when the description has no such value. */
export function writeValues(description) {
  return {
    'values.ts': writeModule(description, PAGE_VALUES),
    'address-values.ts': writeModule(description, ADDRESS_VALUES),
  };
}

function writeModule(description, paths) {
  const lines = Object.entries(paths).map(
    ([name, path]) => `export const ${name} = ${JSON.stringify(readValue(description, path))} as const;\n`,
  );
  return `/** Written by the build from the API description: see \`console/api-values.js\`. */\n${lines.join('')}`;
}

/** A list, the names of a list of properties, limits as they are, or the bounds of a schema. */
function readValue(description, path) {
  const value = path.split(' ').reduce(step, description);
  if (value === undefined) throw new Error(`The API description has no ${path}: see console/api-values.js.`);
  if (Array.isArray(value) || path.endsWith(' x-limits')) return value;
  if (path.endsWith(' properties')) return Object.keys(value);
  const bounds = Object.entries(BOUNDS).flatMap(([keyword, prop]) => {
    const bound = findKeyword(value, keyword);
    return bound === undefined || (keyword === 'minLength' && bound === 1) ? [] : [[prop, bound]];
  });
  if (bounds.length === 0) throw new Error(`${path} has no bounds: see console/api-values.js.`);
  return Object.fromEntries(bounds);
}

/** The property, parameter or keyword of a schema by its name; in `anyOf`, that of the first schema that has it. */
function step(at, name) {
  if (Array.isArray(at)) return at.find((each) => each.name === name);
  const own = at?.properties?.[name] ?? at?.[name];
  return own ?? at?.anyOf?.map((each) => step(each, name)).find((each) => each !== undefined);
}

const findKeyword = (schema, keyword) =>
  schema[keyword] ?? schema.anyOf?.find((each) => each[keyword] !== undefined)?.[keyword];
