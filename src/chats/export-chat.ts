import type { Deps } from '../deps.ts';
import type { Call } from '../lib/caller.ts';
import type { ResponseAnnotation } from '../responses/item-schema.ts';
import { findChat, viewWithCount } from './manage-chats.ts';
import { viewMessages } from './read-messages.ts';
import type { ChatExportFormat, ChatMessageResource } from './schema.ts';
import {
  type ChatMessageRow,
  type ChatRow,
  selectBranchMessages,
  selectChatMessages,
  selectMessageTree,
} from './store.ts';

/** Messages in memory at a time. */
const PAGE_MESSAGES = 50;

/** A file with a chat, which is read while it is sent. */
export interface ChatFile {
  name: string;
  mediaType: string;
  content: AsyncGenerator<string, void, undefined>;
}

/** Exports a chat: Markdown of the branch that is shown, or JSON of all branches. Throws as `findChat` does. */
export async function exportChat(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  id: string,
  format: ChatExportFormat,
): Promise<ChatFile> {
  const chat = await findChat({ db }, call, id);
  const title = chat.title === '' ? 'Chat' : chat.title;
  const name = title.replaceAll(/[/\\]/g, '-');
  if (format === 'markdown')
    return {
      name: `${name}.md`,
      mediaType: 'text/markdown; charset=utf-8',
      content: writeMarkdown({ db }, chat, title),
    };
  return { name: `${name}.json`, mediaType: 'application/json; charset=utf-8', content: writeJson({ db }, chat) };
}

async function* writeJson({ db }: Pick<Deps, 'db'>, chat: ChatRow): AsyncGenerator<string, void, undefined> {
  yield `{"object":"chat.export","chat":${JSON.stringify(await viewWithCount({ db }, chat))},"messages":[`;
  let separator = '\n';
  for (let after: string | null = null; ; ) {
    const rows: ChatMessageRow[] = await selectChatMessages(db.sql, chat.id, { limit: PAGE_MESSAGES, after });
    for (const message of await viewMessages({ db }, chat.id, rows.slice(0, PAGE_MESSAGES))) {
      yield separator + JSON.stringify(message);
      separator = ',\n';
    }
    after = rows.at(PAGE_MESSAGES - 1)?.id ?? null;
    if (rows.length <= PAGE_MESSAGES) break;
  }
  yield '\n]}\n';
}

async function* writeMarkdown(
  { db }: Pick<Deps, 'db'>,
  chat: ChatRow,
  title: string,
): AsyncGenerator<string, void, undefined> {
  yield `# ${title.replaceAll(/\s+/g, ' ')}\n`;
  const byId = new Map((await selectMessageTree(db.sql, chat.id)).map((row) => [row.id, row]));
  const branch: string[] = [];
  for (let row = byId.get(chat.currentMessageId ?? ''); row !== undefined; row = byId.get(row.parentId ?? ''))
    branch.unshift(row.id);
  for (let at = 0; at < branch.length; at += PAGE_MESSAGES) {
    const rows = await selectBranchMessages(db.sql, chat.id, branch.slice(at, at + PAGE_MESSAGES));
    for (const message of await viewMessages({ db }, chat.id, rows)) yield toMarkdown(message);
  }
}

/** A message and its answer with the cited documents. */
function toMarkdown({ text, attachments, created_at: createdAt, response }: ChatMessageResource): string {
  const sent = new Date(createdAt * 1000).toISOString().replace('T', ' ').slice(0, 16);
  const parts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const sources = new Set(
    parts.flatMap(({ annotations }) =>
      annotations.flatMap((each) => (each.type === 'file_citation' ? [toSource(each)] : [])),
    ),
  );
  const answer = parts.map((part) => part.text).join('\n\n');
  return [
    `\n## You, ${sent} UTC\n\n${text}\n`,
    ...(attachments.length === 0 ? [] : [`\nAttached: ${attachments.map(({ name }) => name).join(', ')}\n`]),
    `\n## ${response.model}\n`,
    ...(answer === '' ? [] : [`\n${answer}\n`]),
    ...(response.error === null ? [] : [`\n*${response.error.message}*\n`]),
    ...(sources.size === 0 ? [] : [`\nSources:\n\n${[...sources].map((source) => `- ${source}`).join('\n')}\n`]),
  ].join('');
}

type FileCitation = Extract<ResponseAnnotation, { type: 'file_citation' }>;

const toSource = ({ filename, page, heading_path: headings }: FileCitation): string =>
  [filename, ...(page === null ? [] : [`page ${page}`]), ...headings].join(', ').replaceAll(/\s+/g, ' ');
