import { Clock } from '../../../../base/clock/clock.js';
import type { Time } from '../../../../base/world/time.js';
import { STATUS_OK } from '../../../../core/action.js';
import { freeLarge } from '../../../free-buffers.js';
import type { ActionMessage, ResultMessage, WorkerDescription, WorkerState } from '../../../messages.js';
import { tableOf } from '../../../operator-table.js';
import { LARGE_BYTES } from '../../../parcel.js';
import type { ClientTls } from '../../../wire/credentials.js';
import type { LeaseState } from '../../../wire/protocol.js';
import { modelListToWire } from '../../../wire/to-wire.js';
import type { ClockReading } from '../clock-sync.js';
import { ReconnectingLink } from '../reconnecting-link.js';
import type { LinkWorld } from '../stream-link.js';
import type { Driving, ReturnedInputs, WorkerEvents } from '../worker-link.js';
import type { FromLinks, LinkAnswer, LinkCall, LinkSettings } from './link-messages.js';
import { packInputs, ResultPacker } from './link-pack.js';

/** Means for a link to ask for its worker's lease. */
interface AgentCandidacy {
  /** Name of the controller. */
  readonly controller: string;
  /** Returns the address of another link to the process; null: this one has it from now on, until its lease is null. */
  otherAddress(link: number, instance: string): string | null;
  /** See `ReconnectingLinkOptions`. */
  leaseIs(link: number, lease: LeaseState | null): void;
}

/**
 * A link in the thread of links, for the `RemoteLink` in the controller's. The two never agree on the state at the same
 * instant: actions for a worker that is down here may already be on their way. So the controller answers each `down`
 * once it sends no more, and gets the inputs of everything sent in vain. A worker that comes up again meanwhile has to
 * wait.
 */
export class LinkAgent implements WorkerEvents {
  private readonly link: ReconnectingLink;
  private readonly kept = new KeptInputs();
  /** State last reported to the controller. */
  private isUp = false;
  private readonly gpusDown = new Set<number>();
  /** True until the controller has acknowledged that the worker is down. */
  private isSettling = false;
  /** Events held back meanwhile. */
  private readonly held: (() => void)[] = [];
  /** Start of the round trip behind the controller's estimate of the worker's clock. */
  private timedNs: number | null = null;

  constructor(
    private readonly number: number,
    settings: LinkSettings,
    originNs: number,
    private readonly port: Outbox,
    elector: AgentCandidacy,
    world: LinkWorld,
  ) {
    const own = settings.tls === undefined ? {} : { tls: inBuffers(settings.tls) };
    this.link = new ReconnectingLink({
      ...settings,
      ...own,
      world,
      log: (line) => port.post({ kind: 'log', link: number, line }),
      timed: (clock) => this.timed(clock),
      controller: elector.controller,
      otherAddress: (instance) => elector.otherAddress(number, instance),
      lease: (lease) => elector.leaseIs(number, lease),
    });
    const clock = new Clock(world.time, originNs);
    this.link.start(this, () => clock.nowNs());
  }

  /** Asks for the worker's lease. */
  take(term: number): void {
    this.link.take(term);
  }

  send(actions: readonly ActionMessage[]): void {
    for (const action of actions) this.kept.add(action);
    if (!this.isUp) return;
    const { gpusDown } = this;
    const going = gpusDown.size === 0 ? actions : actions.filter(({ gpu }) => !gpusDown.has(gpu));
    if (going.length > 0) this.link.send(going);
  }

  renew(tls: ClientTls): void {
    this.link.renew(inBuffers(tls));
  }

  restart(reason: string, gpu: number | null): void {
    if (this.isUp) this.link.restart(reason, gpu);
  }

  /** Gives up the worker's lease, and does not ask again before `resume`. */
  suspend(reason: string): void {
    this.link.suspend(reason);
  }

  resume(): void {
    this.link.resume();
  }

  startRecording(): void {
    this.link.startRecording();
  }

  async call(id: number, call: LinkCall): Promise<void> {
    const { number: link, port } = this;
    try {
      port.post({ kind: 'called', link, id, answer: await this.answer(call), error: null });
    } catch (error) {
      port.post({ kind: 'called', link, id, answer: null, error: (error as Error).message });
    }
  }

  /** Call when nothing more is sent to what is down: returns the inputs, and reports events held back. */
  settle(gpu: number | null, reason: string): void {
    const { contents, transfer } = packInputs(this.kept.takeAll(gpu));
    this.port.post({ kind: 'settled', link: this.number, gpu, reason, inputs: contents }, transfer);
    if (gpu !== null) return;
    this.isSettling = false;
    while (this.held.length > 0 && !this.isSettling) this.held.shift()?.();
  }

  async close(): Promise<void> {
    await this.link.close();
    this.port.post({ kind: 'closed', link: this.number });
  }

  met(description: WorkerDescription): void {
    this.port.post({ kind: 'met', link: this.number, description });
  }

  driven(by: Driving): void {
    this.port.post({ kind: 'driven', link: this.number, by });
  }

  up(description: WorkerDescription, state: WorkerState): void {
    if (this.isSettling) {
      this.held.push(() => this.up(description, state));
      return;
    }
    this.isUp = true;
    this.gpusDown.clear();
    this.port.post({ kind: 'up', link: this.number, description, state });
  }

  results(results: readonly ResultMessage[]): void {
    for (const result of results) this.port.result(this.number, result, this.kept.takeFor(result));
  }

  down(reason: string, gpu: number | null): void {
    if (this.isSettling) {
      this.held.push(() => this.down(reason, gpu));
      return;
    }
    if (gpu === null) {
      this.isUp = false;
      this.isSettling = true;
    } else this.gpusDown.add(gpu);
    this.port.post({ kind: 'down', link: this.number, gpu, reason });
  }

  private timed(clock: ClockReading | null): void {
    const sentNs = clock?.sentNs ?? null;
    // Most round trips do not improve the estimate.
    if (sentNs === this.timedNs) return;
    this.timedNs = sentNs;
    const reading = clock === null ? null : { sentNs: clock.sentNs, roundTripNs: clock.roundTripNs };
    this.port.post({ kind: 'timed', link: this.number, clock: reading });
  }

  private async answer(call: LinkCall): Promise<LinkAnswer> {
    switch (call.method) {
      case 'listModels':
        // Errors would lose their class in transit.
        return modelListToWire(0, await this.link.listModels(call.name));
      case 'addModel':
        return this.link.addModel(call.index, call.reference);
      case 'dropModel':
        await this.link.dropModel(call.index);
        return null;
      case 'stopRecording': {
        const { operators, dropped } = await this.link.stopRecording();
        return { table: tableOf(operators), dropped };
      }
    }
  }
}

/** Buffers cross into another thread as plain byte arrays. */
function inBuffers({ ca }: ClientTls): ClientTls {
  return ca === undefined ? {} : { ca: Buffer.from(ca) };
}

interface Kept {
  readonly gpu: number;
  readonly inputs: ActionMessage['inputs'];
}

/** Large inputs moved to this thread, kept until their results come: those not run may be retried elsewhere. */
class KeptInputs {
  private readonly kept = new Map<number, Kept>();

  add({ id, gpu, inputs }: ActionMessage): void {
    if (inputs.some(({ length }) => length > LARGE_BYTES)) this.kept.set(id, { gpu, inputs });
  }

  /** Inputs to return with the result. Those of completed actions are freed. */
  takeFor({ id, status }: ResultMessage): ActionMessage['inputs'] {
    const kept = this.kept.get(id);
    if (kept === undefined) return NONE;
    this.kept.delete(id);
    if (status !== STATUS_OK) return kept.inputs;
    freeLarge(kept.inputs);
    return NONE;
  }

  /** Inputs sent to the GPU, or all with null. */
  takeAll(gpu: number | null): ReturnedInputs {
    const taken = new Map<number, ActionMessage['inputs']>();
    for (const [id, kept] of this.kept) if (gpu === null || kept.gpu === gpu) taken.set(id, kept.inputs);
    for (const id of taken.keys()) this.kept.delete(id);
    return taken;
  }
}

const NONE: ActionMessage['inputs'] = [];

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
