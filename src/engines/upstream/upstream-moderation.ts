import type { Moderation, ModerationEngine } from '../moderation-engine.ts';
import { moderationOf } from './moderation-answer.ts';
import type { Question } from './question.ts';
import { QuestionServer, type QuestionServerOptions } from './question-server.ts';

/** Bytes of an answer: a thousand results with the names of many categories have one or two megabytes. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** Judges texts by asking servers of the OpenAI kind, at `/moderations`. Throws a TypeError when a base URL is none. */
export function createUpstreamModeration(options: QuestionServerOptions): ModerationEngine {
  const server = new QuestionServer(options);
  return {
    backend: () => server.backend(),
    moderate: (texts: readonly string[], signal: AbortSignal, scope = ''): Promise<Moderation> => {
      const question: Question = {
        endpoint: 'moderations',
        body: JSON.stringify({ model: server.model, input: texts }),
        param: 'input',
        maxAnswerBytes: MAX_ANSWER_BYTES,
      };
      return server.admitted(scope, signal, (call) =>
        server.ask(question, (answer) => moderationOf(answer, texts), call),
      );
    },
    check: (signal) => server.check(signal),
    close: () => server.close(),
  };
}
