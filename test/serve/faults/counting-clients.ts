import { Agent, request } from 'node:http';

/** What became of the requests. */
export interface Tally {
  sent: number;
  ok: number;
  /** Answers that said something else than zeros, or belonged to another request. */
  readonly wrong: string[];
  /** Requests without an answer, though their connection held. */
  lost: number;
  /** Connections that broke before the answer. */
  broken: number;
  /** Answers with an error: what they said, and how often. */
  readonly failures: Map<string, number>;
}

/** Longer than any answer may take. */
const LOST_MS = 30_000;

/**
 * Clients that ask a model whose outputs are known to be zeros, each again as soon as it was answered. They share no
 * code with the server, and believe nothing that it says of itself.
 */
export class CountingClients {
  readonly tally: Tally = { sent: 0, ok: 0, wrong: [], lost: 0, broken: 0, failures: new Map() };
  private readonly agent = new Agent({ keepAlive: true });
  private readonly running: Promise<void>[];
  private goOn = true;

  constructor(
    private readonly port: () => number,
    private readonly models: readonly string[],
    clients: number,
    private readonly sloMs: number,
  ) {
    this.running = Array.from({ length: clients }, (_, i) => this.client(i));
  }

  /** Resolves when so many more were answered with success. */
  async someMore(count: number): Promise<void> {
    const goal = this.tally.ok + count;
    while (this.tally.ok < goal) await sleep(10);
  }

  async stop(): Promise<Tally> {
    this.goOn = false;
    await Promise.all(this.running);
    this.agent.destroy();
    return this.tally;
  }

  get failed(): number {
    return [...this.tally.failures.values()].reduce((sum, count) => sum + count, 0);
  }

  private async client(index: number): Promise<void> {
    for (let number = 0; this.goOn; number++) {
      await this.ask(`${index}-${number}`, this.models[(index + number) % this.models.length]);
      await sleep(5);
    }
  }

  private ask(id: string, model: string): Promise<void> {
    const { tally, agent } = this;
    tally.sent++;
    const body = JSON.stringify({
      id,
      inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 2], data: [1, 2] }],
      parameters: { slo_ms: this.sloMs },
    });
    return new Promise((resolve) => {
      let over = false;
      const end = (count: () => void) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        count();
        resolve();
      };
      const path = `/v2/models/${model}/infer`;
      const call = request(
        { host: '127.0.0.1', port: this.port(), path, method: 'POST', agent },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          answer.on('end', () => end(() => this.count(id, answer.statusCode ?? 0, text)));
          answer.on('error', () => end(() => tally.broken++));
        },
      );
      const timer = setTimeout(() => {
        end(() => tally.lost++);
        call.destroy();
      }, LOST_MS);
      call.on('error', () => end(() => tally.broken++));
      call.end(body);
    });
  }

  private count(id: string, status: number, text: string): void {
    const { tally } = this;
    if (status !== 200) {
      const said = `${status} ${text.slice(0, 200)}`;
      tally.failures.set(said, (tally.failures.get(said) ?? 0) + 1);
      return;
    }
    const answer = JSON.parse(text);
    const data = answer.outputs?.[0]?.data;
    const right =
      answer.id === id && Array.isArray(data) && data.length > 0 && data.every((one) => one === 0);
    if (right) tally.ok++;
    else tally.wrong.push(`${id}: ${text.slice(0, 200)}`);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
