import type { TableState } from './maintenance.ts';

/** Work that the maintenance of tables has left, as far as this process has read their state or changed it. */
export class MaintenanceDebt {
  readonly #states = new Map<string, TableState>();
  /** Rows deleted by this process since the last build of the keyword index. */
  readonly #deleted = new Map<string, number>();

  /** Notes the state of a table, before its maintenance, which may fail, and after it. */
  note(baseId: string, state: TableState): void {
    this.#states.set(baseId, state);
  }

  /** Adds deleted rows. */
  addDeleted(baseId: string, rows: number): void {
    this.#deleted.set(baseId, this.deletedRows(baseId) + rows);
  }

  /** Rows of a table deleted since the last build of its keyword index. */
  deletedRows(baseId: string): number {
    return this.#deleted.get(baseId) ?? 0;
  }

  /** The keyword index of a table was built. */
  clearDeleted(baseId: string): void {
    this.#deleted.delete(baseId);
  }

  /** Forgets a table that was dropped. */
  clear(baseId: string): void {
    this.#states.delete(baseId);
    this.#deleted.delete(baseId);
  }

  /** Sums over the tables. */
  totals(): { unindexedRows: number; deletedRows: number; fragments: number } {
    const totals = { unindexedRows: 0, deletedRows: 0, fragments: 0 };
    for (const { unindexedTerms, unindexedVectors, deletedSinceBuild, fragments } of this.#states.values()) {
      totals.unindexedRows += Math.max(unindexedTerms ?? 0, unindexedVectors ?? 0);
      totals.deletedRows += deletedSinceBuild;
      totals.fragments += fragments;
    }
    return totals;
  }
}
