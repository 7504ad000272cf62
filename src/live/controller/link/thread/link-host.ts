import { compiledNextTo } from '../../../../base/compiled.js';
import type { Time, Timer } from '../../../../base/world/time.js';
import type { ActionMessage, ResultMessage } from '../../../messages.js';
import { beat, newPulse, PulseWatch } from '../../../pulse.js';
import type { ClientTls } from '../../../wire/credentials.js';
import { REAL_WORLD } from '../../../world/real-world.js';
import type { ThreadHandle, Threads } from '../../../world/threads.js';
import type { World } from '../../../world/world.js';
import { Backoff } from '../backoff.js';
import type { Candidacy } from '../election.js';
import type { FromLinks, LinkThreadData, ToLinks } from './link-messages.js';
import { ActionPacker, unpackResults } from './link-pack.js';

/** A link as seen by its host. */
export interface HostedLink {
  /** Message with which a new thread opens the link. */
  opening(): Extract<ToLinks, { readonly kind: 'open' }>;
  receive(message: Exclude<FromLinks, string | { readonly kind: 'results' }>): void;
  results(results: readonly ResultMessage[]): void;
  /** Sets the trusted authority for later connections. */
  renew(tls: ClientTls): void;
  /** The thread has ended, with everything it had; another follows. */
  lost(reason: string): void;
}

interface LinkHostOptions {
  /** World of the controller's process. Default: the real one. */
  readonly world?: Pick<World, 'time' | 'threads' | 'newId'>;
  /** Called once, when the thread hangs: its inputs are lost, and no other replaces it. */
  readonly hung?: (what: string) => void;
  /** See `Candidacy`. */
  readonly isStandby?: boolean;
  /** True if the thread stays without links, for later ones, until `close`. Default: it ends with the last. */
  readonly stays?: boolean;
}

/** Initial delay before a thread that ended by itself is replaced; doubles up to the maximum. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Host of the thread with the connections to workers: it encodes and decodes, encrypts and checks, so that the
 * scheduling thread touches no tensor. It starts with the first link and ends with the last. If it dies, its links are
 * lost and recreated in another; the process continues. If it hangs, it is left alone: Node may abort the process if a
 * thread is ended while HTTP/2 has work for it. All links of a controller share one, which asks for the workers' leases.
 */
export class LinkHost {
  /** Null: none at present. */
  thread: ThreadHandle | null = null;
  private readonly links = new Map<number, HostedLink>();
  private lastNumber = 0;
  private readonly packer = new ActionPacker();
  private isDue = false;
  private readonly backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  private pause: Timer | null = null;
  private readonly flush = () => this.sendActions();
  /** Time of the controller's process. */
  readonly time: Time;
  private readonly threads: Threads;
  private readonly candidacy: Candidacy;
  private readonly hung: (what: string) => void;
  private readonly stays: boolean;
  /** Pulse of this thread, watched by the thread of links. */
  private readonly pulse = newPulse();
  private endPulse: () => void = () => {};

  constructor({
    world = REAL_WORLD,
    hung = () => {},
    isStandby = false,
    stays = false,
  }: LinkHostOptions = {}) {
    this.time = world.time;
    this.threads = world.threads;
    this.stays = stays;
    this.hung = hung;
    this.candidacy = { controller: world.newId(), isStandby };
  }

  /** Returns the link's number. */
  add(link: HostedLink): number {
    const number = ++this.lastNumber;
    this.links.set(number, link);
    return number;
  }

  /** Opens the link in the thread, which may have to be started. */
  open(number: number): void {
    if (this.thread === null && this.pause === null) this.launch();
    else this.openIn(number);
  }

  /** Sends actions; all of one turn go in one message. */
  send(number: number, actions: readonly ActionMessage[]): void {
    for (const action of actions) this.packer.add(number, action);
    if (this.isDue) return;
    this.isDue = true;
    // After everything else that this step sends, without a turn of the event loop in between.
    queueMicrotask(this.flush);
  }

  /** Posts a message; false if there is no thread. */
  post(message: Exclude<ToLinks, string>): boolean {
    this.sendActions();
    return this.postNow(message, []);
  }

  /** Sets the trusted authority for later connections of all links. Throws `E_TLS` for an unusable one. */
  renew(tls: ClientTls): void {
    for (const link of this.links.values()) link.renew(tls);
  }

  /** Removes a closed link. */
  async remove(number: number): Promise<void> {
    this.links.delete(number);
    if (this.links.size === 0 && !this.stays) await this.close();
  }

  /** Ends the thread, which has no links any more. */
  async close(): Promise<void> {
    this.pause?.cancel();
    this.pause = null;
    this.endPulse();
    const { thread } = this;
    this.thread = null;
    await thread?.terminate();
  }

  private launch(): void {
    this.pause = null;
    this.endPulse();
    this.endPulse = beat(this.pulse, this.time);
    const pulse = new PulseWatch(this.time, (reason) => {
      this.thread = null;
      this.hung(`the thread of links ${reason}`);
    });
    const thread = this.threads.start(compiledNextTo(import.meta.url, 'link-thread.js'), {
      name: 'links',
      workerData: {
        pulse: pulse.buffer,
        schedulerPulse: this.pulse,
        candidacy: this.candidacy,
      } satisfies LinkThreadData,
    });
    let reason = '';
    thread.on('message', (message: FromLinks) => {
      if (this.thread === thread) this.receive(message);
    });
    thread.on('error', (error) => {
      reason = error.message;
    });
    thread.on('exit', (status) => {
      pulse.stop();
      if (this.thread === thread) this.died(reason || `it ended with status ${status}`);
    });
    this.thread = thread;
    for (const number of this.links.keys()) this.openIn(number);
  }

  private openIn(number: number): void {
    const link = this.links.get(number);
    if (link !== undefined) this.post(link.opening());
  }

  private died(reason: string): void {
    this.thread = null;
    this.pause = this.time.after(this.backoff.delayMs(this.time.monotonicNs()), () => this.launch());
    for (const link of this.links.values()) link.lost(`the thread of links has ended: ${reason}`);
  }

  private receive(message: FromLinks): void {
    if (typeof message === 'string') this.results(message);
    else if (message.kind === 'results') this.results(message.results);
    else this.links.get(message.link)?.receive(message);
  }

  private results(packed: Parameters<typeof unpackResults>[0]): void {
    const byLink = new Map<number, ResultMessage[]>();
    unpackResults(packed, (number, result) => {
      const results = byLink.get(number);
      if (results === undefined) byLink.set(number, [result]);
      else results.push(result);
    });
    for (const [number, results] of byLink) this.links.get(number)?.results(results);
  }

  private sendActions(): void {
    if (!this.isDue) return;
    this.isDue = false;
    const { packed, transfer } = this.packer.take();
    this.postNow(typeof packed === 'string' ? packed : { kind: 'actions', actions: packed }, transfer);
  }

  /** A message that cannot be sent must not end the process: the thread is given up instead. */
  private postNow(message: ToLinks, transfer: readonly ArrayBuffer[]): boolean {
    const { thread } = this;
    if (thread === null) return false;
    try {
      thread.postMessage(message, transfer);
    } catch {
      void thread.terminate();
    }
    return true;
  }
}
