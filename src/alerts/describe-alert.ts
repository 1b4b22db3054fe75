import type { alerts } from './tables.ts';

/** Texts of an alert in English, one or two sentences each. */
export interface AlertTexts {
  summary: string;
  consequence: string;
  next_step: string;
}

/** Describes an alert: what happened, the consequence, the next step. */
export function describeAlert({
  kind,
  name,
  details,
}: Pick<typeof alerts.$inferSelect, 'kind' | 'name' | 'details'>): AlertTexts {
  switch (kind) {
    case 'sync_failed':
      return {
        summary: `The sync of the data source '${name}' failed: ${details.error}`,
        consequence: 'Searches and answers use the documents of its last successful sync.',
        next_step: 'Correct the settings or credentials of the data source, then sync it again.',
      };
    case 'backup_stale':
      return {
        summary: `The backup is late: ${details.error}`,
        consequence: 'If the machine is lost now, the changes since the last backup are lost with it.',
        next_step: 'Check the backup target and the log of the service, then run `quire backup create`.',
      };
    case 'upstream_unhealthy':
      return {
        summary: `The server ${name} does not answer: ${details.error}`,
        consequence: `Requests for ${details.models?.join(', ')} go to other servers, or fail if there are none.`,
        next_step: 'Check whether the server runs and can be reached from this machine.',
      };
    case 'budget_threshold':
      return {
        summary: `${details.threshold_percent} % of this month's budget '${name}' has been spent.`,
        consequence:
          details.is_enforced && details.threshold_percent === 100
            ? 'Calls that the budget does not cover are rejected until the month ends.'
            : 'Calls go on; nothing is rejected yet.',
        next_step: 'Look at the usage by key and model, then raise the budget or limit keys.',
      };
  }
}
