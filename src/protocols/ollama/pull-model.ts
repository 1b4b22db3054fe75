import { setTimeout as pause } from 'node:timers/promises';
import { invalidValue } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import type { ModelAdminDeps } from '../../models/administration/admin-deps.ts';
import { beginPull } from '../../models/administration/manage-files.ts';
import { bindModel } from '../../models/administration/manage-models.ts';
import { findModelFile } from '../../models/downloads/model-files.ts';
import type { ModelPulls } from '../../models/downloads/model-pulls.ts';
import { resolveModelName } from './models.ts';
import type { OllamaProgress } from './schema.ts';

/** Interval of the progress of a pull. */
const PROGRESS_MS = 250;

/** Clients that follow each pull here, and whether one of them started it. */
const followers = new WeakMap<object, { count: number; isStartedHere: boolean }>();

/**
 * Pulls a model and, if it generates, binds it to a model id of the requested name. Throws 400 for an unknown name
 * before the first progress. A pull that was started here is cancelled when its last client disconnects; the next pull
 * resumes it.
 */
export async function pullByName(
  deps: ModelAdminDeps & { pulls: ModelPulls },
  { call, name, signal }: { call: Call; name: string; signal: AbortSignal },
): Promise<AsyncGenerator<OllamaProgress, void, undefined>> {
  const { pulls, config } = deps;
  const requestedAt = new Date();
  const onComplete = async (file: string) => {
    const use = (await findModelFile(config.dataDir, file))?.card?.use;
    if (use === 'generation') await bindModel(deps, call, resolveModelName(deps, name), file);
  };
  const pull = await beginPull(deps, pulls, { call, source: name, param: 'model', onComplete });
  const clients = followers.get(pull) ?? { count: 0, isStartedHere: false };
  followers.set(pull, clients);
  clients.count += 1;
  clients.isStartedHere ||= pull.startedAt >= requestedAt;
  return follow();

  async function* follow(): AsyncGenerator<OllamaProgress, void, undefined> {
    try {
      yield { status: 'pulling manifest' };
      while (pull.endedAt === null) {
        const { name: digest, totalBytes: total, receivedBytes: completed } = pull;
        if (total !== null) yield { status: `pulling ${digest}`, digest, total, completed };
        await pause(PROGRESS_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    } finally {
      clients.count -= 1;
      const isAbandoned = clients.isStartedHere && clients.count === 0 && pull.endedAt === null;
      if (isAbandoned) await pulls.stop([pull.name]);
    }
    if (pull.state !== 'completed') throw invalidValue('model', `was not pulled: ${pull.detail ?? pull.state}`);
    yield { status: 'success' };
  }
}
