import { Gauge, type Registry } from 'prom-client';

/** Says whether the journal ended early. Returns what is to be called then. Servers without a journal have no such metric. */
export function registerJournalGauge(registry: Registry): () => void {
  const help = '1 once the journal could not be written any more, otherwise 0';
  const failed = new Gauge({ name: 'escapement_journal_failed', help, registers: [registry] });
  return () => failed.set(1);
}
