/** Pages of one task of the guide. */
export interface GuideSection {
  title: string;
  /** Files below `docs/use`, without `.md`, in reading order. */
  pages: readonly string[];
}

/** Table of contents of the guide. Every page of `docs/use` is in one section. */
export const GUIDE: readonly GuideSection[] = [
  {
    title: 'Tutorials',
    pages: [
      'tutorials/five-minutes',
      'tutorials/connect-your-wiki',
      'tutorials/give-your-team-access',
      'tutorials/support-bot',
      'tutorials/move-from-openai',
      'tutorials/three-machines',
    ],
  },
  { title: 'Set up', pages: ['install', 'configuration', 'models', 'clients'] },
  {
    title: 'Answer from documents',
    pages: ['knowledge-bases', 'connectors', 'evaluations', 'vector-stores'],
  },
  {
    title: 'Build applications',
    pages: [
      'responses',
      'batches',
      'mcp',
      'anthropic',
      'ollama',
      'migrate-from-assistants',
      'openai-compatibility',
      'errors',
    ],
  },
  {
    title: 'Manage',
    pages: ['console', 'administration', 'guardrails', 'limits', 'usage', 'requests', 'alerts', 'cli'],
  },
  {
    title: 'Operate',
    pages: ['operations', 'capacity', 'storage', 'backup', 'monitoring', 'kubernetes', 'runbooks', 'troubleshooting'],
  },
];

/** Operations of one task of the API reference. */
export interface ReferenceGroup {
  /** Last part of the page's path. */
  slug: string;
  title: string;
  /** Tags of the API description, in reading order. */
  tags: readonly string[];
  /** Markdown: what the operations are for. */
  introduction: string;
}

/** Pages of the API reference. Every tag of the API description is in one group; operation of the service is last. */
export const REFERENCE: readonly ReferenceGroup[] = [
  {
    slug: 'generate',
    title: 'Generate text',
    tags: ['Chat', 'Responses', 'Conversations', 'Completions', 'Chats', 'Prompts'],
    introduction: `Chat completions are the primary way to a model: send the messages, receive the next one, whole or as a stream of events. With \`knowledge_bases\`, the answer comes from your documents and cites them.

Responses run a loop with tools on the server: search in knowledge bases, MCP servers, your own functions. Conversations store their turns. Text completions exist for older clients.

Guide: [clients](/docs/guide/clients), [responses](/docs/guide/responses), [a support bot](/docs/guide/tutorials/support-bot), [limits](/docs/guide/limits).`,
  },
  {
    slug: 'knowledge-bases',
    title: 'Knowledge bases',
    tags: ['Knowledge bases', 'Documents', 'Data sources', 'Ingestion jobs', 'Evaluations'],
    introduction: `A knowledge base holds documents that are divided into chunks, embedded and searched. Create one, add documents or a data source, wait until the ingestion job is \`completed\`, then search it or name it in a chat completion.

Data sources feed it from folders, buckets, wikis and web pages, also on a schedule. Evaluations measure its search and its answers with your questions.

Guide: [knowledge bases](/docs/guide/knowledge-bases), [data sources](/docs/guide/connectors), [evaluations](/docs/guide/evaluations).`,
  },
  {
    slug: 'embed-and-rerank',
    title: 'Embed and rerank',
    tags: ['Embeddings', 'Rerank'],
    introduction: `Embeddings are vectors of texts, for a search of your own. Reranking scores documents by their relevance to a query, from 0 to 1. The search in a knowledge base does both.

Guide: [models](/docs/guide/models).`,
  },
  {
    slug: 'files-and-batches',
    title: 'Files and batches',
    tags: ['Files', 'Batches', 'Vector stores'],
    introduction: `Uploaded files feed knowledge bases and batches. A batch processes many requests from one JSONL file at half the price: upload the file with the purpose \`batch\`, create the batch, and download the file of results.

Vector stores are knowledge bases in the form of the OpenAI API: each is also listed as a knowledge base.

Guide: [batches](/docs/guide/batches), [vector stores](/docs/guide/vector-stores).`,
  },
  {
    slug: 'safety',
    title: 'Moderation and guardrails',
    tags: ['Moderations', 'Guardrails'],
    introduction: `A moderation scores texts by category of harm and changes nothing. A guardrail policy screens the calls of an organization: it blocks, or flags in the header \`x-moderation-warning\`. Test a policy with a text before you enable it.

Guide: [guardrails](/docs/guide/guardrails).`,
  },
  {
    slug: 'models-and-usage',
    title: 'Models and usage',
    tags: ['Models', 'Usage'],
    introduction: `The models of this service with their context and price, and the metered calls: by day, model, key or label, and one by one with the id of the request.

Guide: [models](/docs/guide/models), [usage](/docs/guide/usage), [requests](/docs/guide/requests).`,
  },
  {
    slug: 'protocols',
    title: 'Other protocols',
    tags: ['Anthropic Messages', 'Ollama', 'Model Context Protocol'],
    introduction: `The same models and knowledge bases for clients of other APIs, with the same keys, limits and policies. Errors have the form of each protocol.

Guide: [Anthropic](/docs/guide/anthropic), [Ollama](/docs/guide/ollama), [Model Context Protocol](/docs/guide/mcp).`,
  },
  {
    slug: 'administration',
    title: 'Administration',
    tags: ['Console', 'Admin', 'Alerts'],
    introduction: `What the console does, for scripts: sign-in, members, keys, organizations, models of the instance, the audit log and alerts. Most operations need the scope \`admin\`; those for keys need \`keys\`.

Guide: [administration](/docs/guide/administration), [team access](/docs/guide/tutorials/give-your-team-access).`,
  },
  {
    slug: 'operation',
    title: 'Operation',
    tags: ['Operation'],
    introduction: `State of this process for load balancers and monitoring. Probes need no key.

Guide: [monitoring](/docs/guide/monitoring), [operations](/docs/guide/operations).`,
  },
];
