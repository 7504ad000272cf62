import { Counter, type Registry } from 'prom-client';

/** Counts registrations that did not count, by the reason, when somebody asks. Each series is there from the start. */
export function registerTurnedAway(registry: Registry, counts: Readonly<Record<string, number>>): void {
  new Counter({
    name: 'escapement_registrations_turned_away_total',
    help: 'Registrations of workers that the controller turned away',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts)) this.inc({ reason }, count);
    },
  });
}
