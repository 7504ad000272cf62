import type { WorkerEvents } from '../../../../src/live/controller/fleet-worker.js';
import type { Driving } from '../../../../src/live/controller/link/worker-link.js';
import type { ResultMessage, WorkerDescription, WorkerState } from '../../../../src/live/messages.js';

export type Heard =
  | { readonly kind: 'up'; readonly description: WorkerDescription; readonly state: WorkerState }
  | { readonly kind: 'result'; readonly result: ResultMessage }
  | { readonly kind: 'down'; readonly reason: string; readonly gpu: number | null };

/** Keeps what a worker reports; `next` takes it out, one after the other, and waits for what has not come yet. */
export class Recorder implements WorkerEvents {
  /** What it has said that it is; who has driven it. */
  readonly descriptions: WorkerDescription[] = [];
  readonly drivers: Driving[] = [];
  private readonly heard: Heard[] = [];
  private waiting: (() => void) | null = null;

  met(description: WorkerDescription): void {
    this.descriptions.push(description);
  }

  driven(by: Driving): void {
    this.drivers.push(by);
  }

  up(description: WorkerDescription, state: WorkerState): void {
    this.add({ kind: 'up', description, state });
  }

  results(results: readonly ResultMessage[]): void {
    for (const result of results) this.add({ kind: 'result', result });
  }

  gpuDown(gpu: number, reason: string): void {
    this.add({ kind: 'down', reason, gpu });
  }

  down(reason: string): void {
    this.add({ kind: 'down', reason, gpu: null });
  }

  get pending(): readonly Heard[] {
    return this.heard;
  }

  /** The next thing reported, which must be of this kind. */
  async next<K extends Heard['kind']>(kind: K): Promise<Extract<Heard, { kind: K }>> {
    if (this.heard.length === 0)
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    const first = this.heard.shift() as Heard;
    if (first.kind !== kind) throw new Error(`expected ${kind}, heard ${JSON.stringify(first)}`);
    return first as Extract<Heard, { kind: K }>;
  }

  private add(heard: Heard): void {
    this.heard.push(heard);
    this.waiting?.();
    this.waiting = null;
  }
}
