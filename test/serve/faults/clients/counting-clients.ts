import { type Asker, type Question, type Subject, Tally } from './tally.js';

/** Longer than any answer may take. */
const LOST_MS = 45_000;
const PAUSE_MS = 25;

/**
 * Clients that ask models whose answers are known, each again soon after it was answered. They share no code with the
 * server, and believe nothing that it says of itself.
 */
export class CountingClients {
  readonly tally = new Tally();
  private readonly askers: readonly Asker[];
  private readonly running: Promise<void>[];
  private goOn = true;

  /** `connect`: an entry per client; several may share a connection. */
  constructor(
    connect: (doubled: (what: string) => void) => readonly Asker[],
    private readonly subjects: readonly Subject[],
    private readonly sloMs: number,
  ) {
    this.askers = connect((what) => this.tally.doubled.push(what));
    this.running = this.askers.map((asker, i) => this.client(asker, i));
  }

  /** The most that can be under way at a time. */
  get count(): number {
    return this.askers.length;
  }

  /** Resolves when so many more were answered with success. */
  async someMore(count: number): Promise<void> {
    const goal = this.tally.ok + count;
    while (this.tally.ok < goal) {
      if (!this.goOn) throw new Error('the clients have stopped');
      await sleep(10);
    }
  }

  async stop(): Promise<Tally> {
    this.goOn = false;
    await Promise.all(this.running);
    for (const asker of this.askers) asker.close();
    return this.tally;
  }

  private async client(asker: Asker, index: number): Promise<void> {
    for (let number = 0; this.goOn; number++) {
      const subject = this.subjects[(index + number) % this.subjects.length];
      const values = Float32Array.from({ length: subject.width }, (_, i) => index * 1000 + number + i);
      await this.ask(
        asker,
        { id: `${index}-${number}`, model: subject.name, values, sloMs: this.sloMs },
        subject,
      );
      await sleep(PAUSE_MS);
    }
  }

  private async ask(asker: Asker, question: Question, subject: Subject): Promise<void> {
    const { tally } = this;
    tally.sent++;
    let timer: NodeJS.Timeout | undefined;
    const lost = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), LOST_MS);
    });
    const reply = await Promise.race([asker.ask(question), lost]);
    clearTimeout(timer);
    if (reply === null) tally.lost++;
    else tally.count(question, reply, subject.right(question.values));
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
