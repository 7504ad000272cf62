import type { Time } from '../../../../base/world/time.js';
import type { ActionMessage, ResultMessage } from '../../../messages.js';
import type { FromLinks } from './link-messages.js';
import { ResultPacker } from './link-pack.js';

type Send = (message: FromLinks, transfer: readonly ArrayBuffer[]) => void;

/**
 * Ordered reports of a thread's links. Results of one turn are one message; any other report first flushes them: a
 * receiver that learns that a worker is down, or settled, already has all its results.
 */
export class Outbox {
  private readonly results = new ResultPacker();
  private isDue = false;
  private readonly flush = () => this.sendResults();

  constructor(
    private readonly send: Send,
    private readonly time: Time,
  ) {}

  post(message: Exclude<FromLinks, string>, transfer: readonly ArrayBuffer[] = []): void {
    this.sendResults();
    this.send(message, transfer);
  }

  /** Returns `inputs` with the result. */
  result(link: number, result: ResultMessage, inputs: ActionMessage['inputs']): void {
    this.results.add(link, result, inputs);
    if (this.isDue) return;
    this.isDue = true;
    this.time.soon(this.flush);
  }

  private sendResults(): void {
    if (!this.isDue) return;
    this.isDue = false;
    const { packed, transfer } = this.results.take();
    this.send(typeof packed === 'string' ? packed : { kind: 'results', results: packed }, transfer);
  }
}
