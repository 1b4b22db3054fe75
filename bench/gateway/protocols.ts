import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningQuire, startQuire } from '../harness/quire-process.ts';
import type { Target } from '../http/chat-request.ts';

/** Model id whose upstream speaks Anthropic's Messages. */
const MESSAGES_MODEL = 'instruct-7b';

/** A target of the protocols' service. */
export type ProtocolTarget = Pick<Target, 'api' | 'model'> & { label: string };

/** What `--protocols` compares, by contender name. The same calls twice show the noise. */
export const PROTOCOLS = {
  quire: { label: 'chat completions' },
  again: { label: 'chat completions again' },
  messages: { label: '/v1/messages', api: 'messages' },
  ollama: { label: '/api/chat', api: 'ollama' },
  anthropic: { label: 'chat, Messages upstream', model: MESSAGES_MODEL },
  both: { label: '/v1/messages, Messages upstream', api: 'messages', model: MESSAGES_MODEL },
} as const satisfies Record<string, ProtocolTarget>;

/** Contenders of `--protocols`. */
export type ProtocolName = keyof typeof PROTOCOLS;

/** Starts a service whose models are on the mock upstream, by OpenAI's API and by Anthropic's Messages. */
export async function startForProtocols(upstream: string): Promise<RunningQuire> {
  const folder = await mkdtemp(join(tmpdir(), 'quire-bench-config-'));
  const config = join(folder, 'quire.yaml');
  await writeFile(
    config,
    `models:\n  ${MESSAGES_MODEL}: {base_urls: '${upstream}/v1', protocol: anthropic, api_key: x}\n`,
  );
  try {
    return await startQuire(`${upstream}/v1`, [], { QUIRE_CONFIG: config });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
