import { defineMessages } from '../ui/language.tsx';

/** Texts of alerts and of their sheet. */
export const useAlertMessages = defineMessages({
  title: ['Notifications', 'Benachrichtigungen'],
  count: ['{count} new', '{count} neu'],
  empty: [
    'No open alerts. Failed syncs, late backups, unhealthy servers and spent budgets appear here.',
    'Keine offenen Meldungen. Fehlgeschlagene Synchronisierungen, verspätete Backups, gestörte Server und verbrauchte Budgets erscheinen hier.',
  ],
  all: ['All alerts and channels', 'Alle Meldungen und Kanäle'],
  acknowledge: ['Acknowledge', 'Zur Kenntnis nehmen'],
  acknowledged: ['Acknowledged', 'Zur Kenntnis genommen'],
  resolved: ['Resolved {time}', 'Behoben {time}'],
  show: ['Show', 'Anzeigen'],
  kinds: {
    sync_failed: ['Sync failed', 'Synchronisierung fehlgeschlagen'],
    backup_stale: ['Backup late', 'Backup verspätet'],
    upstream_unhealthy: ['Server unhealthy', 'Server gestört'],
    budget_threshold: ['Budget', 'Budget'],
  },
  summaries: {
    sync_failed: [
      'The sync of the data source “{name}” failed: {error}',
      'Die Synchronisierung der Datenquelle „{name}“ ist fehlgeschlagen: {error}',
    ],
    backup_schedule: [
      'The scheduled base backup has been due since {since}.',
      'Das geplante Basis-Backup ist seit {since} fällig.',
    ],
    backup_wal: [
      'The backup target has not accepted changes (WAL) since {since}.',
      'Das Backup-Ziel hat seit {since} keine Änderungen (WAL) angenommen.',
    ],
    upstream_unhealthy: [
      'The server {name} has not answered since {since}: {error}',
      'Der Server {name} antwortet seit {since} nicht: {error}',
    ],
    budget_threshold: [
      '{percent} of this month’s budget “{name}” has been spent.',
      '{percent} des Budgets „{name}“ für diesen Monat sind verbraucht.',
    ],
  },
  consequences: {
    sync_failed: [
      'Searches and answers use the documents of the last successful sync.',
      'Suchen und Antworten nutzen die Dokumente der letzten erfolgreichen Synchronisierung.',
    ],
    backup_stale: [
      'If the machine is lost now, the changes since the last backup are lost with it.',
      'Geht die Maschine jetzt verloren, sind die Änderungen seit dem letzten Backup mit verloren.',
    ],
    upstream_unhealthy: [
      'Requests for {models} go to other servers, or fail if there are none.',
      'Anfragen an {models} gehen an andere Server oder schlagen fehl, wenn es keine gibt.',
    ],
    budget_threshold: ['Calls are still accepted.', 'Aufrufe werden weiterhin angenommen.'],
    budget_rejecting: [
      'Calls that the budget does not cover are rejected until the month ends.',
      'Aufrufe, die das Budget nicht deckt, werden bis zum Monatsende abgelehnt.',
    ],
  },
  nextSteps: {
    sync_failed: [
      'Correct the settings or credentials of the data source, then sync it again.',
      'Korrigieren Sie Einstellungen oder Zugangsdaten der Datenquelle und synchronisieren Sie erneut.',
    ],
    backup_stale: [
      'Check the backup target and the log of the service, then run “quire backup create”.',
      'Prüfen Sie das Backup-Ziel und das Protokoll des Dienstes und führen Sie „quire backup create“ aus.',
    ],
    upstream_unhealthy: [
      'Check whether the server runs and can be reached from this machine.',
      'Prüfen Sie, ob der Server läuft und von dieser Maschine erreichbar ist.',
    ],
    budget_threshold: [
      'Look at the usage by key and model, then raise the budget or limit keys.',
      'Sehen Sie sich den Verbrauch nach Schlüssel und Modell an und erhöhen Sie das Budget oder begrenzen Sie Schlüssel.',
    ],
  },
});
