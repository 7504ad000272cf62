import { Counter, type Registry } from 'prom-client';

/** Counts workers that come and go by themselves, when somebody asks. */
export function registerJoining(
  registry: Registry,
  counts: { readonly joined: number; readonly left: number; readonly lost: number },
): void {
  const counter = (name: string, help: string, value: () => number) =>
    new Counter({
      ...{ name, help, registers: [registry] },
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  counter('escapement_workers_joined_total', 'Workers that have registered and joined', () => counts.joined);
  counter('escapement_workers_left_total', 'Workers that had joined and have left', () => counts.left);
  counter(
    'escapement_workers_lost_total',
    'Workers that have left without saying so: killed, crashed or cut off',
    () => counts.lost,
  );
}
