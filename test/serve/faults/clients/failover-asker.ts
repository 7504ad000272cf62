import { sleep } from './counting-clients.js';
import { HttpAsker } from './http-asker.js';
import type { Asker, Question, Reply } from './tally.js';

const PAUSE_MS = 20;

/** Asks one of two servers, and the other one when that breaks off or says that it is not ready. */
export class FailoverAsker implements Asker {
  private readonly askers: readonly HttpAsker[];
  private at = 0;

  constructor(ports: readonly (() => number)[], doubled: (what: string) => void) {
    this.askers = ports.map((port) => new HttpAsker({ port, ca: null }, doubled));
  }

  /** A server that hangs is left after its time; what it says later is not read. */
  async ask(question: Question): Promise<Reply> {
    for (;;) {
      const asker = this.askers[this.at];
      const reply = await Promise.race([asker.ask(question), sleep(HANGING_MS).then(() => null)]);
      if (reply === null) asker.close();
      else if (reply.kind === 'answer') return reply;
      else if (reply.kind === 'failure' && !/^503 /.test(reply.said)) return reply;
      this.at = 1 - this.at;
      await sleep(PAUSE_MS);
    }
  }

  close(): void {
    for (const asker of this.askers) asker.close();
  }
}

/** Longer than any server takes that is not frozen. */
const HANGING_MS = 1500;
