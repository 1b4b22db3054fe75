import { join } from 'node:path';
import { type RunningChild, startChild } from '../harness/child-process.ts';
import { hasQuire, type RunningQuire, startQuire } from '../harness/quire-process.ts';
import { chatRequest, findDefect, type Target } from '../http/chat-request.ts';
import { Connection } from '../http/connection.ts';
import { ANSWER_TEXT, STREAM_CHUNKS } from '../mock-upstream/answers.ts';
import { startMock } from '../mock-upstream/start-mock.ts';
import { FEATURE_SETS, type Features, startWithFeatures, startWithRecording } from './features.ts';
import { installPortkey, PORTKEY_VERSION, portkeyHeaders, startPortkey } from './portkey.ts';
import { PROTOCOLS, type ProtocolName, type ProtocolTarget, startForProtocols } from './protocols.ts';

const READY_LIMIT_MS = 30_000;
const LOOPBACK_ORIGIN = /(http:\/\/127\.0\.0\.1:\d+)/;

/** `direct` is the mock upstream itself: the limit of load generator and mock. */
export type ContenderName =
  | ('direct' | 'bare' | 'portkey' | 'processes' | 'recording')
  | keyof typeof FEATURE_SETS
  | ProtocolName;

/** A running chat completion endpoint. */
export interface GatewayContender extends Target {
  name: ContenderName;
  label: string;
  pid: number;
}

/** Contenders of a run, and those that could not start with the reason. */
export interface GatewayField {
  contenders: GatewayContender[];
  absent: string[];
  stop(): Promise<void>;
}

/** Starts the mock upstream and every gateway in front of it, and checks that each returns complete responses. */
export async function startContenders(progress: (line: string) => void): Promise<GatewayField> {
  const field = new FieldBuilder(progress);
  const mock = await field.enterMock();
  const upstreamUrl = `${mock.origin}/v1`;
  await field.enter('bare', 'bare proxy', async () => [await startBareProxy(mock.origin), {}]);
  if (hasQuire()) {
    await field.enter('quire', 'Quire', async () => withKey(await startQuire(upstreamUrl)));
  } else {
    field.absent.push('Quire: this checkout has no src/start.js');
  }
  await field.enter('portkey', `Portkey ${PORTKEY_VERSION}`, async () => {
    await installPortkey();
    return [await startPortkey(), portkeyHeaders(upstreamUrl)];
  });
  return field;
}

/** Starts the mock upstream, and the service once for each entry of `FEATURE_SETS`. */
export async function startFeatureContenders(progress: (line: string) => void): Promise<GatewayField> {
  const field = new FieldBuilder(progress);
  const mock = await field.enterMock();
  const sets = Object.entries(FEATURE_SETS) as [ContenderName, { label: string; features: Features }][];
  for (const [name, { label, features }] of sets) {
    await field.enter(name, label, async () => withKey(await startWithFeatures(`${mock.origin}/v1`, features)));
  }
  return field;
}

/** Starts the mock upstream, and the service with recording of contents disabled and enabled. */
export async function startRecordingContenders(progress: (line: string) => void): Promise<GatewayField> {
  const field = new FieldBuilder(progress);
  const upstreamUrl = `${(await field.enterMock()).origin}/v1`;
  await field.enter('quire', 'recording off', async () => withKey(await startQuire(upstreamUrl)));
  await field.enter('recording', 'recording on', async () => withKey(await startWithRecording(upstreamUrl)));
  return field;
}

/** Starts the mock upstream, and the service with one and with two API processes. */
export async function startProcessContenders(progress: (line: string) => void): Promise<GatewayField> {
  const field = new FieldBuilder(progress);
  const mock = await field.enterMock();
  for (const [name, count] of [
    ['quire', 1],
    ['processes', 2],
  ] as const) {
    const settings = { QUIRE_API_PROCESSES: String(count) };
    const label = `${count} API process${count === 1 ? '' : 'es'}`;
    await field.enter(name, label, async () => withKey(await startQuire(`${mock.origin}/v1`, [], settings)));
  }
  return field;
}

/**
 * Starts the mock upstream, and one service for all of `PROTOCOLS`: its processes, which are measured, are the same for
 * each of them.
 */
export async function startProtocolContenders(progress: (line: string) => void): Promise<GatewayField> {
  const field = new FieldBuilder(progress);
  const mock = await field.enterMock();
  const service = await startForProtocols(mock.origin);
  field.own(service);
  for (const [name, { label, ...target }] of Object.entries(PROTOCOLS) as [ProtocolName, ProtocolTarget][])
    await field.add({ name, label, ...target, origin: service.origin, headers: withKey(service)[1], pid: service.pid });
  return field;
}

type Started = [RunningChild, Target['headers']];

const withKey = (quire: RunningQuire): Started => [quire, { authorization: `Bearer ${quire.apiKey}` }];

class FieldBuilder implements GatewayField {
  readonly contenders: GatewayContender[] = [];
  readonly absent: string[] = [];
  readonly #children: RunningChild[] = [];
  readonly #progress: (line: string) => void;

  constructor(progress: (line: string) => void) {
    this.#progress = progress;
  }

  /** Starts a contender; one that fails is absent with the reason. */
  async enter(name: ContenderName, label: string, start: () => Promise<Started>): Promise<void> {
    this.#progress(`starting ${label}`);
    try {
      const [child, headers] = await start();
      this.own(child);
      await this.add({ name, label, origin: child.origin, headers, pid: child.pid });
    } catch (error) {
      this.absent.push(`${label}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Stops a process with the others. */
  own(child: RunningChild): void {
    this.#children.push(child);
  }

  /** Adds a contender whose answers are complete; throws otherwise. */
  async add(contender: GatewayContender): Promise<void> {
    await checkAnswers(contender);
    this.contenders.push(contender);
  }

  /** Starts the upstream that all others need. */
  async enterMock(): Promise<GatewayContender> {
    await this.enter('direct', 'direct', async () => [await startMock(), {}]);
    const [mock] = this.contenders;
    if (mock === undefined) throw new Error(this.absent.join('\n'));
    return mock;
  }

  async stop(): Promise<void> {
    for (const child of this.#children.toReversed()) await child.stop();
  }
}

function startBareProxy(upstream: string): Promise<RunningChild> {
  return startChild({
    name: 'bare proxy',
    nodeArgs: [join(import.meta.dirname, 'bare-proxy.ts'), '--upstream', upstream],
    ready: LOOPBACK_ORIGIN,
    readyLimitMs: READY_LIMIT_MS,
  });
}

/** Requires text and usage, streamed and not, so that no gateway wins by omitting work. */
async function checkAnswers(target: Target): Promise<void> {
  for (const stream of [false, true]) {
    const connection = await Connection.open(target.origin);
    let body = '';
    const answer = await connection.exchange(chatRequest(target, { stream }), (payload) => {
      body += payload.toString('utf8');
    });
    connection.destroy();
    const complaint = findDefect(answer, { stream }, target.api);
    if (complaint) throw new Error(complaint);
    const { text, totalTokens, contentChunks } = stream ? readStream(body) : readCompletion(body);
    if (!text.startsWith(ANSWER_TEXT)) throw new Error(`another text than the upstream's: ${text.slice(0, 100)}`);
    if (!totalTokens) throw new Error('an answer without usage');
    if (stream && contentChunks < STREAM_CHUNKS) throw new Error(`only ${contentChunks} chunks of ${STREAM_CHUNKS}`);
  }
}

interface Content {
  text: string;
  totalTokens: number;
  contentChunks: number;
}

/** Fields of a message of Anthropic's API, or of an event of its stream. */
interface WireMessage {
  content?: { text: string }[];
  delta?: { text?: string };
  usage?: { input_tokens: number; output_tokens: number };
}

interface WireChoice {
  message?: { content?: string };
  delta?: { content?: string };
}

/** Fields of Ollama's API, whole or in a stream, beside those of the others. */
interface WireOllama {
  message?: { content?: string };
  eval_count?: number;
}

interface WireAnswer extends Pick<WireMessage, 'content' | 'delta'>, WireOllama {
  choices?: WireChoice[];
  usage?: ({ total_tokens: number } & Partial<WireMessage['usage']>) | null;
}

function readCompletion(body: string): Content {
  const answer = JSON.parse(body) as WireAnswer;
  const text = (answer.choices?.[0] ?? answer).message?.content ?? answer.content?.[0]?.text ?? '';
  return { text, totalTokens: countTokens(answer), contentChunks: 1 };
}

const countTokens = ({ usage, eval_count: ollamaTokens }: WireAnswer): number =>
  usage?.total_tokens ?? usage?.output_tokens ?? ollamaTokens ?? 0;

function readStream(body: string): Content {
  const content: Content = { text: '', totalTokens: 0, contentChunks: 0 };
  for (const line of body.split('\n')) {
    const json = line.replace(/^data: /, '');
    if (!json.startsWith('{')) continue;
    const chunk = JSON.parse(json) as WireAnswer;
    const piece = chunk.choices?.[0]?.delta?.content ?? chunk.delta?.text ?? chunk.message?.content ?? '';
    content.text += piece;
    if (piece !== '') content.contentChunks++;
    content.totalTokens = countTokens(chunk) || content.totalTokens;
  }
  return content;
}
