import { BENCH_RATE_LIMITS, type RunningQuire, startQuire } from '../harness/quire-process.ts';

/** Topics of the policy. */
const TOPICS = 100;
/** A balance that no benchmark spends. */
const BALANCE_MICROS = 1_000_000_000_000_000;

/** Features that every call of a service passes; authentication and usage records are always on. */
export interface Features {
  limits: boolean;
  policy: boolean;
  credits: boolean;
}

/** Variants of the service that `--features` compares, by contender name. */
export const FEATURE_SETS = {
  quire: { label: 'none', features: { limits: false, policy: false, credits: false } },
  limits: { label: 'rate limits', features: { limits: true, policy: false, credits: false } },
  policy: { label: 'guardrail policy', features: { limits: false, policy: true, credits: false } },
  credits: { label: 'credits', features: { limits: false, policy: false, credits: true } },
  all: { label: 'all three', features: { limits: true, policy: true, credits: true } },
} as const satisfies Record<string, { label: string; features: Features }>;

/** Starts a service in front of `upstreamUrl` with some features on. `settings`: further environment variables. */
export async function startWithFeatures(
  upstreamUrl: string,
  { limits, policy, credits }: Features,
  settings: Record<string, string> = {},
): Promise<RunningQuire> {
  const rateLimits = limits ? BENCH_RATE_LIMITS : 'off';
  const quire = await startQuire(upstreamUrl, [], { QUIRE_RATE_LIMITS: rateLimits, ...settings });
  try {
    if (policy) await createPolicy(quire);
    if (credits) await setBalance(quire);
    return quire;
  } catch (error) {
    await quire.stop();
    throw error;
  }
}

/** Starts a service that records redacted prompts and answers. */
export async function startWithRecording(upstreamUrl: string): Promise<RunningQuire> {
  const quire = await startQuire(upstreamUrl);
  try {
    await send(quire, 'PATCH', '/v1/request-recording', { enabled: true });
    return quire;
  } catch (error) {
    await quire.stop();
    throw error;
  }
}

/** A policy that screens input and output by categories and topics. Nothing in the benchmark is flagged. */
async function createPolicy(quire: RunningQuire): Promise<void> {
  const topics = Array.from({ length: TOPICS }, (_, index) => ({ topic: `forbidden${index}`, action: 'block' }));
  await send(quire, 'POST', '/v1/guardrail-policies', { name: 'bench', topic_deny_list: topics, apply_to: ['both'] });
}

async function setBalance(quire: RunningQuire): Promise<void> {
  const { data } = (await send(quire, 'GET', '/v1/admin/organizations')) as { data: { id: string }[] };
  for (const { id } of data) await send(quire, 'PUT', `/v1/admin/credits/${id}`, { balance_micros: BALANCE_MICROS });
}

async function send(quire: RunningQuire, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(quire.origin + path, {
    method,
    headers: { authorization: `Bearer ${quire.apiKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
