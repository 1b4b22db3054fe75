/** Main module of a grammar compiler thread. Started by `compiler-thread.ts`. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { CompilerMessage } from './compiler-thread.ts';
import type { GrammarSource } from './request-grammar.ts';

/** Beside threads that compute completions, a compilation gets a quarter of a core; an idle core, in full. */
const NICENESS = 5;

// On Linux, id 0 is this thread. Elsewhere it is the process.
if (process.platform === 'linux') setPriority(0, NICENESS);
// Imported after that, because loading the compiler takes longer than most compilations.
const { toErrorFacts } = await import('../../../lib/error-facts.ts');
const { buildGrammar } = await import('./request-grammar.ts');

function compile(source: GrammarSource): Exclude<CompilerMessage, { ready: true }> {
  try {
    return { grammar: buildGrammar(source) };
  } catch (error) {
    return { rejection: toErrorFacts(error) };
  }
}

parentPort?.on('message', (source: GrammarSource) => {
  const message = compile(source);
  const moved = 'grammar' in message ? [message.grammar.elements.code, message.grammar.elements.alternatives] : [];
  parentPort?.postMessage(
    message,
    moved.map(({ buffer }) => buffer as ArrayBuffer),
  );
});
parentPort?.postMessage({ ready: true } satisfies CompilerMessage);
