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
  { title: 'Manage', pages: ['console', 'administration', 'guardrails', 'limits', 'usage', 'requests', 'cli'] },
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
    tags: ['Chat', 'Responses', 'Conversations', 'Completions', 'Chats'],
    introduction:
      'Chat completions are the primary way to a model. Responses run a loop with tools on the server: search in knowledge bases, MCP servers, your own functions. Text completions exist for older clients.',
  },
  {
    slug: 'knowledge-bases',
    title: 'Knowledge bases',
    tags: ['Knowledge bases', 'Documents', 'Data sources', 'Ingestion jobs', 'Evaluations'],
    introduction:
      'A knowledge base holds documents that are divided into chunks, embedded and searched. Data sources feed it; ingestion jobs report progress; evaluations measure its search and answers.',
  },
  {
    slug: 'embed-and-rerank',
    title: 'Embed and rerank',
    tags: ['Embeddings', 'Rerank'],
    introduction: 'Vectors of texts, and the relevance of documents to a query.',
  },
  {
    slug: 'files-and-batches',
    title: 'Files and batches',
    tags: ['Files', 'Batches', 'Vector stores'],
    introduction:
      'Uploaded files feed knowledge bases and batches. A batch processes many requests from one JSONL file at half the price. Vector stores are knowledge bases in the form of the OpenAI API.',
  },
  {
    slug: 'safety',
    title: 'Moderation and guardrails',
    tags: ['Moderations', 'Guardrails'],
    introduction: 'Scores of texts by category of harm, and policies that screen the calls of an organization.',
  },
  {
    slug: 'models-and-usage',
    title: 'Models and usage',
    tags: ['Models', 'Usage'],
    introduction: 'The models of this service with their context and price, and the metered calls.',
  },
  {
    slug: 'protocols',
    title: 'Other protocols',
    tags: ['Anthropic Messages', 'Ollama', 'Model Context Protocol'],
    introduction: 'The same models and knowledge bases for clients of other APIs.',
  },
  {
    slug: 'administration',
    title: 'Administration',
    tags: ['Console', 'Admin'],
    introduction: 'Sign-in, members, keys, organizations, models of the instance and the audit log.',
  },
  {
    slug: 'operation',
    title: 'Operation',
    tags: ['Operation'],
    introduction: 'State of this process for load balancers and monitoring.',
  },
];
