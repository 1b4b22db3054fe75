import { showProgress } from '../../bench/harness/command.ts';
import { countColumn, type MetricRow, type MetricTable, metricColumn } from '../../bench/harness/metric-table.ts';
import { mean } from '../../bench/harness/statistics.ts';
import type { EmbeddingEngine } from '../../src/engines/embedding-engine.ts';
import type { ChatMessage } from '../../src/engines/engine.ts';
import { retrievalQuery } from '../../src/knowledge-bases/grounding/retrieval-query.ts';
import { CODES, type Conversation, conversationsOf } from './paired-questions.ts';
import { Searched } from './searched.ts';

const KINDS = ['same paragraph, pronoun', 'same paragraph, as it is', 'another article, as it is'] as const;
const NEAR = 3;

/** Query strategies for the third turn. Assistant replies are empty phrases. */
const WAYS: Record<string, (turns: Conversation['turns']) => string> = {
  'the last alone': ([, , last]) => last,
  two: ([, previous, last]) => `${previous}\n${last}`,
  'two, the last twice': ([, previous, last]) => `${previous}\n${last}\n${last}`,
  'all three': (turns) => turns.join('\n'),
  product: (turns) => retrievalQuery(messagesOf(turns)) ?? '',
};

/** Recall of the answering paragraph at 1 and 3 for the last turn, averaged over languages. */
export async function followUpTable(embedder: EmbeddingEngine, data: string): Promise<MetricTable> {
  const found = new Map<string, { first: number[]; near: number[] }>();
  const sizes = new Map<string, number>();
  for (const [done, code] of CODES.entries()) {
    const { texts, language, conversations } = conversationsOf(data, code);
    const search = await Searched.of(embedder, texts, language);
    for (const kind of KINDS) {
      const own = conversations.filter((conversation) => conversation.kind === kind);
      sizes.set(kind, (sizes.get(kind) ?? 0) + own.length);
      for (const [way, queryOf] of Object.entries(WAYS)) {
        const scores = await search.hybrid(own.map(({ turns }) => queryOf(turns)));
        const ranks = own.map(
          ({ gold }, i) => (scores[i] ?? []).filter((score) => score > (scores[i]?.[gold] ?? 0)).length,
        );
        const figures = found.get(`${kind}: ${way}`) ?? { first: [], near: [] };
        figures.first.push(mean(ranks.map((rank) => (rank === 0 ? 1 : 0))));
        figures.near.push(mean(ranks.map((rank) => (rank < NEAR ? 1 : 0))));
        found.set(`${kind}: ${way}`, figures);
      }
    }
    showProgress(done + 1, CODES.length, 'follow-ups');
  }
  const rows: MetricRow[] = [...found].map(([name, { first, near }]) => ({
    name,
    cells: [sizes.get(name.split(':')[0] ?? '') ?? 0, mean(first), mean(near)],
  }));
  return {
    title: 'What a follow-up question finds, twelve languages',
    subject: 'conversation and query',
    columns: [countColumn('questions'), metricColumn('first'), metricColumn(`among ${NEAR}`)],
    rows,
  };
}

/** A conversation with replies that are too long for a query. */
function messagesOf(turns: Conversation['turns']): ChatMessage[] {
  const answer: ChatMessage = { role: 'assistant', content: '.'.repeat(100) };
  return turns.flatMap((content) => [{ role: 'user' as const, content }, answer]).slice(0, -1);
}
