import type { FastifyReply, FastifyRequest } from 'fastify';
import { startChat } from '../../chat/start-chat.ts';
import { startCompletion } from '../../completions/start-completion.ts';
import { embedTexts } from '../../embeddings/embed-texts.ts';
import { streamVectors } from '../../embeddings/response.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal, sendEvents, waitForHead } from '../../http/event-stream.ts';
import { sendJsonStream } from '../../http/json-stream.ts';
import { streamed } from '../../http/openapi.ts';
import { noticeHeaders, viewNotices } from '../../inference/moderation-notice.ts';
import { generationHeaders } from '../../inference/view-generation.ts';
import { type OllamaDeps, ollamaModelRoutes, tags } from './model-routes.ts';
import { loadOrUnload, resolveModelName } from './models.ts';
import { type OllamaCall, parseChat, parseGenerate } from './parse-call.ts';
import { OLLAMA } from './protocol.ts';
import {
  type OllamaCallFields,
  OllamaChatRequest,
  OllamaChatResponse,
  OllamaEmbeddingRequest,
  OllamaEmbeddingResponse,
  OllamaEmbedRequest,
  OllamaEmbedResponse,
  OllamaGenerateRequest,
  OllamaGenerateResponse,
} from './schema.ts';
import {
  collectAnswer,
  nanoseconds,
  type OllamaAnswer,
  startedGeneration,
  toAnswerStream,
  viewLoad,
} from './view-answer.ts';

const config = { scope: 'inference', protocol: OLLAMA } as const;

/** Ollama's API: `/api`. */
export function ollamaRoutes(app: App, deps: OllamaDeps): void {
  app.post(
    '/api/chat',
    {
      schema: {
        summary: 'Chat, in the form of Ollama',
        description: 'For clients of Ollama. Streams JSON objects, one per line, unless `stream` is false.',
        tags,
        body: OllamaChatRequest,
        response: { 200: streamed(OllamaChatResponse, OllamaChatResponse) },
      },
      config,
    },
    async (request, reply) => {
      const { body } = request;
      const parse = body.messages?.length ? () => parseChat(deps, toCall(request), body) : null;
      return answer(deps, request, reply, { body, form: 'chat', parse });
    },
  );
  app.post(
    '/api/generate',
    {
      schema: {
        summary: 'Generate, in the form of Ollama',
        description: 'For clients of Ollama. Streams as `/api/chat` does.',
        tags,
        body: OllamaGenerateRequest,
        response: { 200: streamed(OllamaGenerateResponse, OllamaGenerateResponse) },
      },
      config,
    },
    async (request, reply) => {
      const { body } = request;
      const hasPrompt = body.prompt || body.suffix || body.images?.length;
      const parse = hasPrompt ? () => parseGenerate(deps, toCall(request), body) : null;
      return answer(deps, request, reply, { body, form: 'generate', parse });
    },
  );
  embeddingRoutes(app, deps);
  ollamaModelRoutes(app, deps);
}

/** A request to `chat` or `generate`. `parse` is null without a prompt. */
interface AnswerRequest extends Pick<OllamaAnswer, 'form'> {
  body: OllamaCallFields;
  parse: (() => OllamaCall) | null;
}

async function answer(
  deps: OllamaDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { body, form, parse }: AnswerRequest,
): Promise<void> {
  const startedAt = performance.now();
  const { model, stream = true, think } = body;
  if (parse === null) {
    await reply.send(viewLoad({ form, model }, await loadOrUnload(deps, toCall(request), body)));
    return;
  }
  const call = parse();
  const signal = disconnectSignal(reply);
  const run =
    'chat' in call ? await startChat(deps, call.chat, signal) : await startCompletion(deps, call.completion, signal);
  const started = startedGeneration(run);
  const shown: OllamaAnswer = { run, started, form, model, showsThinking: think !== false, startedAt };
  if (stream) {
    const { cachedTokens = null } = (await waitForHead(started)) ?? {};
    reply.headers(generationHeaders(cachedTokens, run.notices()));
    return sendEvents(reply, toAnswerStream(shown));
  }
  const collected = await collectAnswer(shown);
  await reply.headers(generationHeaders((await started).usage().cachedTokens, run.notices())).send(collected);
}

function embeddingRoutes(app: App, deps: OllamaDeps): void {
  app.post(
    '/api/embed',
    {
      schema: {
        summary: 'Create embeddings, in the form of Ollama',
        description: 'As `POST /v1/embeddings`: a text of too many tokens is an error, whatever `truncate` says.',
        tags,
        body: OllamaEmbedRequest,
        response: { 200: OllamaEmbedResponse },
      },
      config,
    },
    async (request, reply) => {
      const startedAt = performance.now();
      const { body } = request;
      const input = { ...body, model: resolveModelName(deps, body.model) };
      const embedded = await embedTexts(deps, toCall(request), input, disconnectSignal(reply));
      reply.headers(noticeHeaders([embedded.notice]));
      const facts = {
        total_duration: nanoseconds(performance.now() - startedAt),
        load_duration: 0,
        prompt_eval_count: embedded.tokens,
        ...viewNotices([embedded.notice]),
      };
      const head = `{"model":${JSON.stringify(body.model)},"embeddings":[`;
      const tail = `],${JSON.stringify(facts).slice(1)}`;
      sendJsonStream(reply, streamVectors(embedded, { head, toJson: (vector) => Array.from(vector), tail }));
      return reply;
    },
  );
  app.post(
    '/api/embeddings',
    {
      schema: {
        summary: 'Create one embedding, in the older form of Ollama',
        tags,
        body: OllamaEmbeddingRequest,
        response: { 200: OllamaEmbeddingResponse },
      },
      config,
    },
    async (request, reply) => {
      const { model, prompt } = request.body;
      const input = { model: resolveModelName(deps, model), input: prompt };
      const { vectors, notice } = await embedTexts(deps, toCall(request), input, disconnectSignal(reply));
      reply.headers(noticeHeaders([notice]));
      return { embedding: Array.from(vectors[0] ?? []), ...viewNotices([notice]) };
    },
  );
}
