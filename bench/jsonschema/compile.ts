import { buildGrammar } from '../../src/engines/llama/constraints/request-grammar.ts';
import { ApiError } from '../../src/errors.ts';

/** Outcome of one schema. `ms`: time to compile or to reject it. */
export type Compiled =
  | { kind: 'enforced'; grammar: string; ms: number }
  | { kind: 'refused'; keyword: string; message: string; ms: number };

/** Compiles a schema as the service does. Throws unexpected errors. */
export function compile(schema: unknown): Compiled {
  const begun = performance.now();
  try {
    const format = {
      type: 'json_schema',
      name: 'value',
      strict: true,
      schema: schema as Record<string, unknown>,
    } as const;
    const { text } = buildGrammar({ kind: 'format', format });
    return { kind: 'enforced', grammar: text, ms: performance.now() - begun };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    const ms = performance.now() - begun;
    return { kind: 'refused', keyword: keywordOf(error), message: error.message, ms };
  }
}

/** The keyword named by a rejection, or its message if it names a schema. */
function keywordOf(error: ApiError): string {
  const because = /accepts nothing|too large|nested deeper|without end|unlisted|does not list/.exec(error.message)?.[0];
  const last =
    (error.param ?? '')
      .split('.')
      .filter((step) => !/^\d+$/.test(step))
      .at(-1) ?? '';
  return because === undefined ? last : `(${because})`;
}
