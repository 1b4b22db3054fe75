/** Errors and streams of Ollama's API. */
import { Type } from 'typebox';
import type { Protocol } from '../../http/protocol.ts';

/** Version of Ollama whose API these routes follow. Clients compare it with the features that they need. */
export const OLLAMA_VERSION = '0.12.6';

const OllamaError = Type.Object(
  {
    error: Type.String({ description: 'What is wrong.' }),
    type: Type.String(),
    code: Type.String({ description: 'Identifies the error, as on the other routes.' }),
    param: Type.Union([Type.String(), Type.Null()], { description: 'Dotted path of the invalid field.' }),
    reasons: Type.Optional(Type.Array(Type.String())),
    policy_id: Type.Optional(Type.String()),
    request_id: Type.String(),
  },
  { title: 'OllamaErrorResponse' },
);

/** How the routes of Ollama's API render errors and streams: one JSON object per line. */
export const OLLAMA: Protocol = {
  errorBody: (error, requestId) => {
    const { message, ...rest } = error.body().error;
    return { error: message, ...rest, request_id: requestId };
  },
  errorSchema: OllamaError,
  stream: {
    contentType: 'application/x-ndjson',
    frame: (event) => `${JSON.stringify(event)}\n`,
    // An object with `done` or the status `success` ends a complete stream.
    end: '',
    keepAlive: null,
  },
};
