/** Sampling interval in microseconds. */
const SAMPLE_US = 1000;

/** Activities by the file of the innermost known frame. */
const KINDS: readonly (readonly [kind: string, file: RegExp])[] = [
  ['chunking', /ingestion\/chunk\/|lib\/sentences\.ts/],
  ['extraction', /ingestion\/extract\//],
  ['index', /src\/search\/|@lancedb\/|apache-arrow|flatbuffers/],
  ['SQL', /drizzle-orm|pg-boss|src\/db\/|store\.ts$/],
  ['embedder', /src\/engines\//],
  ['usage records', /src\/(?:inference|billing)\//],
  ['files', /src\/(?:blobs|files)\//],
  ['ingestion itself', /src\/knowledge-bases\//],
];

interface Node {
  id: number;
  callFrame: { functionName: string; url: string };
  children?: number[];
}

interface Profile {
  nodes: Node[];
  samples: number[];
  timeDeltas: number[];
}

/** A sampling profiler of a process's main thread. */
export interface Profiler {
  start(): Promise<void>;
  /** Milliseconds by activity since `start`, including `idle`. */
  stop(): Promise<Map<string, number>>;
}

/** Connects to a process started with `--inspect=127.0.0.1:0`, whose `output` contains the inspector URL. */
export async function connectProfiler(output: string): Promise<Profiler> {
  const url = /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(output)?.[0];
  if (url === undefined) throw new Error('the service does not say where its inspector listens');
  const socket = new WebSocket(url);
  const answers = new Map<number, PromiseWithResolvers<object>>();
  const opened = Promise.withResolvers<void>();
  socket.addEventListener('open', () => opened.resolve());
  socket.addEventListener('error', () => opened.reject(new Error('the inspector does not answer')));
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as { id: number; result: object; error?: object };
    if (error === undefined) answers.get(id)?.resolve(result);
    else answers.get(id)?.reject(new Error(JSON.stringify(error)));
  });
  await opened.promise;
  let asked = 0;
  const ask = (method: string, params = {}) => {
    const answer = Promise.withResolvers<object>();
    asked += 1;
    answers.set(asked, answer);
    socket.send(JSON.stringify({ id: asked, method, params }));
    return answer.promise;
  };
  await ask('Profiler.enable');
  await ask('Profiler.setSamplingInterval', { interval: SAMPLE_US });
  return {
    start: async () => {
      await ask('Profiler.start');
    },
    stop: async () => {
      const { profile } = (await ask('Profiler.stop')) as { profile: Profile };
      socket.close();
      return kindsOf(profile);
    },
  };
}

function kindsOf({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const kinds = new Map<number, string>();
  const walk = [...nodes.slice(0, 1).map(({ id }) => ({ id, outer: 'other' }))];
  for (const { id, outer } of walk) {
    const node = byId.get(id);
    const kind = node === undefined ? outer : kindOf(node, outer);
    kinds.set(id, kind);
    for (const child of node?.children ?? []) walk.push({ id: child, outer: kind });
  }
  const sums = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const kind = kinds.get(id) ?? 'other';
    sums.set(kind, (sums.get(kind) ?? 0) + (timeDeltas[i] ?? 0) / 1000);
  }
  return sums;
}

function kindOf({ callFrame: { functionName, url } }: Node, outer: string): string {
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(garbage collector)') return 'garbage collection';
  return KINDS.find(([, file]) => file.test(url))?.[0] ?? outer;
}
