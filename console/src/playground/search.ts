import type { PlaygroundMode } from './request.ts';

/** What the address of the playground names. It never contains a text of the user. */
export interface PlaygroundSearch {
  model?: string;
  /** The second model, side by side. */
  compare?: string;
  /** Ids of knowledge bases, separated by commas. */
  kb?: string;
  mode?: PlaygroundMode;
  /** Id of a recorded request that initializes the conversation. */
  request?: string;
}

/** Parses the query of the address; unknown values are dropped. */
export function parsePlaygroundSearch(search: Record<string, unknown>): PlaygroundSearch {
  const text = (name: string): string | undefined => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    model: text('model'),
    compare: text('compare'),
    kb: text('kb'),
    mode: search['mode'] === 'responses' ? 'responses' : undefined,
    request: text('request'),
  };
}
