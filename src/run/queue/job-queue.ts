import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Order } from './messages.js';
import { PREFIX } from './names.js';

/** What became of a job that was added. */
type JobState = 'there' | 'missing' | { readonly failed: string };

/** A processor that throws is tried again so often; what a cell throws is an outcome. */
const ATTEMPTS = 3;
/** The events that BullMQ writes are not read. */
const MOST_EVENTS = 1;

/** The jobs of one sweep. Those that are done disappear by themselves; their results come another way. */
export class JobQueue {
  private readonly queue: Queue<Order>;

  constructor(
    private readonly client: Redis,
    name: string,
    private readonly sweep: string,
  ) {
    const streams = { events: { maxLen: MOST_EVENTS } };
    this.queue = new Queue(name, { connection: client, prefix: PREFIX, skipVersionCheck: true, streams });
    // The connection has its own listener, and what a call throws its caller hears.
    this.queue.on('error', () => {});
  }

  /** Adding a job that is there changes nothing. */
  async add(orders: readonly Order[]): Promise<void> {
    await this.queue.addBulk(
      orders.map((order) => ({
        name: 'cell',
        data: order,
        opts: { jobId: this.idOf(order.cell), removeOnComplete: true, attempts: ATTEMPTS },
      })),
    );
  }

  async states(cells: readonly number[]): Promise<JobState[]> {
    const pipeline = this.client.pipeline();
    for (const cell of cells)
      pipeline.hmget(this.queue.toKey(this.idOf(cell)), 'timestamp', 'failedReason', 'finishedOn');
    const answers = (await pipeline.exec()) ?? [];
    return answers.map(([error, fields]) => {
      if (error !== null) throw error;
      const [timestamp, failed, finished] = fields as (string | null)[];
      if (timestamp === null) return 'missing';
      return failed !== null && finished !== null ? { failed: failed as string } : 'there';
    });
  }

  /** Takes jobs out that no worker has begun; the others disappear when they end. */
  async remove(cells: readonly number[]): Promise<void> {
    await Promise.all(cells.map((cell) => this.queue.remove(this.idOf(cell)).catch(() => 0)));
  }

  close(): Promise<void> {
    return this.queue.close();
  }

  private idOf(cell: number): string {
    return `${this.sweep}-${cell}`;
  }
}
