/** Main module of the grammar compiler thread. Started by `grammar-compiler.ts`. */
import { parentPort } from 'node:worker_threads';
import { toErrorFacts } from '../runtime/error-facts.ts';
import type { GrammarReply } from './grammar-compiler.ts';
import { buildGrammar, type GrammarSource } from './request-grammar.ts';

parentPort?.on('message', ({ id, source }: { id: number; source: GrammarSource }) => {
  parentPort?.postMessage(built(id, source));
});

function built(id: number, source: GrammarSource): GrammarReply {
  try {
    return { id, grammar: buildGrammar(source) };
  } catch (error) {
    return { id, refusal: toErrorFacts(error) };
  }
}
