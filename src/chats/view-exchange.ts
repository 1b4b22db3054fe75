import { type Static, Type } from 'typebox';
import type { Sql } from '../db/db.ts';
import { selectExistingBases } from '../knowledge-bases/store.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { ResponseAnnotation } from '../responses/item-schema.ts';
import type { ResponseResource } from '../responses/schema.ts';
import type { ResponseRow } from '../responses/store.ts';
import type { ChatMessageRow } from './store.ts';

/** A message and its answer as other members of the organization see them. */
export const EXCHANGE = {
  text: Type.String({ description: 'The message.' }),
  created_at: Type.Integer({ description: 'Unix seconds of the message.' }),
  model: Type.String(),
  answer: Type.Array(
    Type.Object({
      text: Type.String(),
      annotations: Type.Array(ResponseAnnotation, {
        description: 'Citations of knowledge bases that you may read.',
      }),
    }),
    { description: 'Texts of the answer, without searches, tool calls and reasoning.' },
  ),
};

const Exchange = Type.Object(EXCHANGE);
type Exchange = Static<typeof Exchange>;
type Answer = Exchange['answer'];

/** A message with its answer row. */
export interface StoredExchange {
  message: Pick<ChatMessageRow, 'text' | 'createdAt'>;
  row: Pick<ResponseRow, 'response'>;
}

/** Converts exchanges for other members, with only the citations that the current request may read. */
export async function viewExchanges(
  sql: Sql,
  organizationId: string,
  exchanges: readonly StoredExchange[],
): Promise<Exchange[]> {
  const views = exchanges.map(({ message, row }) => {
    const { model, output } = JSON.parse(row.response) as ResponseResource;
    const answer = output.flatMap((item) => (item.type === 'message' ? item.content : []));
    return { text: message.text, created_at: toUnixSeconds(message.createdAt), model, answer };
  });
  const cited = views.flatMap(({ answer }) => answer.flatMap(({ annotations }) => annotations.flatMap(citedBase)));
  const ids = [...new Set(cited)];
  const readable = new Set(ids.length === 0 ? [] : await selectExistingBases(sql, organizationId, ids));
  return views.map((view) => ({ ...view, answer: view.answer.map((part) => redact(part, readable)) }));
}

const citedBase = (annotation: ResponseAnnotation): string[] =>
  annotation.type === 'file_citation' ? [annotation.kb_id] : [];

/** Every file citation is followed by a URL citation at the same position. */
function redact({ text, annotations }: Answer[number], readable: ReadonlySet<string>): Answer[number] {
  const place = ({ start_index, end_index }: ResponseAnnotation) => `${start_index} ${end_index}`;
  const isHidden = (each: ResponseAnnotation) => citedBase(each).some((id) => !readable.has(id));
  const hidden = new Set(annotations.filter(isHidden).map(place));
  return { text, annotations: annotations.filter((each) => !hidden.has(place(each))) };
}
