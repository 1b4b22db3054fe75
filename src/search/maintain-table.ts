import type { Table } from '@lancedb/lancedb';
import { buildLookups, buildTerms, buildVectors, oldestVectors, readTableState } from './chunk-table.ts';
import { type MaintenanceStep, planMaintenance } from './maintenance.ts';
import type { MaintenanceDebt } from './maintenance-debt.ts';

/** How a table is maintained. */
export interface Maintenance {
  debt: MaintenanceDebt;
  /** Whether more writes follow. */
  isBusy: boolean;
  /** Compacts the table, updates its indexes and removes old versions. */
  optimize(): Promise<void>;
}

/** Builds indexes and compacts a table as needed. Returns the steps that were done. */
export async function maintainTable(
  table: Table,
  baseId: string,
  { debt, isBusy, optimize }: Maintenance,
): Promise<MaintenanceStep[]> {
  const readState = () => readTableState(table, debt.deletedRows(baseId));
  const state = await readState();
  debt.note(baseId, state);
  const steps = planMaintenance(state, isBusy);
  for (const step of steps) {
    if (step === 'buildTerms') {
      await buildTerms(table);
      debt.clearDeleted(baseId);
    }
    if (step === 'buildVectors') await buildVectors(table, await oldestVectors(table));
    if (step === 'buildLookups') await buildLookups(table);
    if (step === 'optimize') await optimize();
  }
  if (steps.length > 0) debt.note(baseId, await readState());
  return steps;
}
