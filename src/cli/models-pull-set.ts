import { setTimeout as pause } from 'node:timers/promises';
import { OperatorError } from '../lib/operator-error.ts';
import type { ModelFiles, ModelPullStatus } from '../models/administration/schema.ts';
import { type AdminClient, withAdminApi } from './admin-client.ts';
import { requireConfirmation } from './confirm.ts';
import { formatMegabytes, printResult } from './output.ts';
import { ProgressLine } from './progress-line.ts';

/** Interval of the progress. */
const POLL_MS = 500;

/** `quire models pull-set`. */
export async function pullSet({ yes, ...output }: { yes?: boolean; json?: boolean }): Promise<void> {
  const models = await withAdminApi(
    async (api) => {
      const offered = await findOffer(api);
      const list = offered.map((one) => `${one.name} (${formatMegabytes(one.approximate_bytes)}, ${one.license})`);
      await requireConfirmation(yes, `Downloads and binds ${list.join(', ')}.`, 'Nothing was downloaded.');
      const [source = '', ...others] = offered.map(({ name }) => name);
      const body = { source, bind: true, with: others };
      await api.send<ModelPullStatus>({ method: 'POST', path: '/v1/admin/model-pulls', body });
      await follow(api, offered);
      return [source, ...others];
    },
    { needsModels: true },
  );
  printResult(output, { models }, () => `Bound: ${models.join(', ')}.`);
}

type Offer = ModelFiles['available'];

/** The models that the service suggests, the chat model first. */
async function findOffer(api: AdminClient): Promise<Offer> {
  const files = await api.send<ModelFiles>({ method: 'GET', path: '/v1/admin/model-files' });
  const names = [files.suggested ?? [], files.suggested_for_retrieval].flat();
  const offered = names.flatMap((name) => files.available.filter((one) => one.name === name));
  if (offered.length > 0) return offered;
  throw new OperatorError('No model is suggested: others than the bundled ones serve, or too little memory is free.');
}

/** Shows the progress of the pulls until the set is bound. Throws an `OperatorError` when it is not. */
async function follow(api: AdminClient, offered: Offer): Promise<void> {
  const line = new ProgressLine(process.stderr);
  try {
    for (;;) {
      const { data } = await api.send<{ data: ModelPullStatus[] }>({ method: 'GET', path: '/v1/admin/model-pulls' });
      const pulls = offered.map(({ name }) => data.findLast((pull) => pull.name === name));
      const totals = offered.map((one, i) => pulls[i]?.total_bytes ?? one.approximate_bytes);
      const received = pulls.map((pull) => pull?.received_bytes ?? 0);
      line.show({ receivedBytes: sum(received), totalBytes: sum(totals) });
      const { state = 'failed', detail = null } = pulls[0] ?? {};
      const isEnded = pulls.every((pull) => pull?.state !== 'pulling');
      if (isEnded && state === 'completed') return;
      if (isEnded) throw new OperatorError(`${detail ?? state} 'quire models pull-set' resumes.`);
      await pause(POLL_MS);
    }
  } finally {
    line.end();
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
