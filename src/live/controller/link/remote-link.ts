import { invariant } from '../../../base/invariant.js';
import type { ActionMessage, ModelReference, ResultMessage } from '../../messages.js';
import type { ServedModel } from '../../model.js';
import type { ModelList } from '../../model-list.js';
import { NO_OPERATORS, type OperatorRuns } from '../../operator-runs.js';
import { type ReadOperators, runsOf } from '../../operator-table.js';
import { checkAddress } from '../../wire/address.js';
import { type ClientTls, clientCredentials } from '../../wire/credentials.js';
import { modelListFromWire } from '../../wire/from-wire.js';
import type { WireModelList } from '../../wire/protocol.js';
import { type ClockReading, clockErrorNs } from './clock-sync.js';
import { type HostedLink, LinkHost } from './thread/link-host.js';
import type { FromLinks, LinkAnswer, LinkCall, LinkSettings, ToLinks } from './thread/link-messages.js';
import { unpackInputs } from './thread/link-pack.js';
import { NOT_CONNECTED, type WorkerEvents, WorkerGone, type WorkerLink } from './worker-link.js';

export interface RemoteLinkOptions extends LinkSettings {
  /** Receives lines for the operator about why the worker cannot be reached. */
  readonly log?: (line: string) => void;
}

/**
 * A remote worker, whose connection is in the thread of links; see `LinkAgent`. The constructor throws `E_USAGE` for an
 * invalid address and `E_TLS` for an unusable certificate; later problems are reported, never thrown.
 */
export class RemoteLink implements WorkerLink, HostedLink {
  readonly name: string;
  private settings: LinkSettings;
  private readonly log: (line: string) => void;
  /** Null: not started, or closed. */
  private events: WorkerEvents | null = null;
  private originNs = 0;
  private number = 0;
  private isUp = false;
  /** True if the worker is known to be down, which is yet to be reported. */
  private isSettling = false;
  /** GPUs known to be down. */
  private readonly gpusDown = new Set<number>();
  private clock: ClockReading | null = null;
  private lastCall = 0;
  private readonly calls = new Map<number, Waiting>();
  private closed: () => void = () => {};

  /** `host`: several links may share a thread. */
  constructor(
    { log = () => {}, ...settings }: RemoteLinkOptions,
    private readonly host = new LinkHost(),
  ) {
    this.name = checkAddress(settings.address);
    this.settings = settings;
    this.log = log;
    clientCredentials(settings.tls);
  }

  /** Maximum error of the worker's clock; null: no connection. */
  clockErrorNs(nowNs: number): number | null {
    return this.clock === null ? null : clockErrorNs(this.clock, nowNs);
  }

  start(events: WorkerEvents, nowNs: () => number): void {
    invariant(this.number === 0, 'a worker is started once');
    this.events = events;
    // Capped at now: no result comes from the future.
    const controllerNs = nowNs();
    this.originNs = this.host.time.monotonicNs() - controllerNs;
    this.number = this.host.add(this);
    this.host.open(this.number);
  }

  send(actions: readonly ActionMessage[]): void {
    // Messages sent while it is down are never answered, and keep their inputs.
    if (!this.isUp) return;
    const { gpusDown } = this;
    const going = gpusDown.size === 0 ? actions : actions.filter(({ gpu }) => !gpusDown.has(gpu));
    if (going.length > 0) this.host.send(this.number, going);
  }

  async listModels(name: string | null): Promise<ModelList> {
    return modelListFromWire((await this.call({ method: 'listModels', name })) as WireModelList);
  }

  async addModel(index: number, reference: ModelReference): Promise<ServedModel> {
    const model = await this.call({ method: 'addModel', index, reference });
    return model as ServedModel;
  }

  async dropModel(index: number): Promise<void> {
    await this.call({ method: 'dropModel', index });
  }

  /** Sets the trusted authority for later connections. Throws `E_TLS` for an unusable one. */
  renew(tls: ClientTls): void {
    clientCredentials(tls);
    this.settings = { ...this.settings, tls };
    if (this.events !== null) this.host.post({ kind: 'renew', link: this.number, tls });
  }

  restart(reason: string, gpu: number | null): void {
    this.host.post({ kind: 'restart', link: this.number, reason, gpu });
  }

  startRecording(): void {
    this.host.post({ kind: 'startRecording', link: this.number });
  }

  async stopRecording(): Promise<OperatorRuns> {
    if (this.events === null) return NO_OPERATORS;
    const { table, dropped } = (await this.call({ method: 'stopRecording' })) as ReadOperators;
    return { operators: runsOf(table), dropped };
  }

  async close(): Promise<void> {
    if (this.events === null) return;
    this.events = null;
    this.isUp = false;
    const end = new Promise<void>((resolve) => {
      this.closed = resolve;
    });
    const giveUp = this.host.time.after(CLOSE_MS, () => this.closed());
    if (this.host.post({ kind: 'close', link: this.number })) await end;
    giveUp.cancel();
    this.giveUpCalls();
    await this.host.remove(this.number);
  }

  opening(): Extract<ToLinks, { readonly kind: 'open' }> {
    return { kind: 'open', link: this.number, settings: this.settings, originNs: this.originNs };
  }

  receive(message: Parameters<HostedLink['receive']>[0]): void {
    if (message.kind === 'up') {
      this.isUp = true;
      this.gpusDown.clear();
      this.events?.up(message.description, message.state);
    } else if (message.kind === 'met') this.events?.met(message.description);
    else if (message.kind === 'driven') this.events?.driven(message.by);
    else if (message.kind === 'down') this.goDown(message.gpu, message.reason);
    else if (message.kind === 'settled') this.settled(message);
    else if (message.kind === 'called') this.called(message);
    else if (message.kind === 'timed') this.clock = message.clock;
    else if (message.kind === 'log') this.log(message.line);
    else this.closed();
  }

  results(results: readonly ResultMessage[]): void {
    this.events?.results(results);
  }

  lost(reason: string): void {
    const wasUp = this.isUp || this.isSettling;
    this.isUp = false;
    this.isSettling = false;
    this.clock = null;
    this.giveUpCalls();
    this.closed();
    this.events?.driven('none');
    if (wasUp) this.events?.down(reason, null);
    else this.log(reason);
  }

  /** Reported once the thread has returned the inputs of everything it was sent. */
  private goDown(gpu: number | null, reason: string): void {
    if (gpu === null) {
      this.isUp = false;
      this.isSettling = true;
    } else this.gpusDown.add(gpu);
    this.host.post({ kind: 'settle', link: this.number, gpu, reason });
  }

  private settled({ gpu, reason, inputs }: Extract<FromLinks, { readonly kind: 'settled' }>): void {
    if (gpu === null) this.isSettling = false;
    this.events?.down(reason, gpu, unpackInputs(inputs));
  }

  private call(call: LinkCall): Promise<LinkAnswer> {
    const id = ++this.lastCall;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      if (this.events === null || !this.host.post({ kind: 'call', link: this.number, id, call }))
        this.giveUpCalls();
    });
  }

  private called({ id, answer, error }: Extract<FromLinks, { readonly kind: 'called' }>): void {
    const waiting = this.calls.get(id);
    this.calls.delete(id);
    if (error === null) waiting?.resolve(answer);
    else waiting?.reject(error === NOT_CONNECTED ? new WorkerGone() : new Error(error));
  }

  private giveUpCalls(): void {
    for (const { reject } of this.calls.values()) reject(new WorkerGone());
    this.calls.clear();
  }
}

interface Waiting {
  resolve(answer: LinkAnswer): void;
  reject(error: Error): void;
}

/** A responsive thread notifies the worker well before. */
const CLOSE_MS = 5_000;
