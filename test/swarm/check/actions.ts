import { NS_PER_S } from '../../../src/base/units.js';
import type { ProcessLife } from '../history/history.js';
import { type GpuSnapshot, type History, type HistoryEvent, nameOf } from '../history/history.js';
import { endNsOf, type Fault } from '../scenario/fault.js';
import type { Scenario } from '../scenario/scenario.js';
import { pagesOn } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';
import { AGREE_NS, mayChangeDriver } from './reasons.js';

/** No action begins outside its window, by the clock of the worker's machine, or twice. No lane runs two at a time. */
export const windows: Check = {
  name: 'windows',
  run({ events }: History) {
    const findings = new Findings('windows');
    /** By lane: the action that runs. */
    const running = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'executorStarted') {
        for (const gpu of event.gpus)
          for (const what of ['LOAD', 'INFER']) running.delete(`${event.process} ${gpu} ${what}`);
      }
      if (event.kind === 'ended') {
        for (const what of ['LOAD', 'INFER']) {
          const lane = `${event.process} ${event.gpu} ${what}`;
          if (running.get(lane) === event.action) running.delete(lane);
        }
      }
      if (event.kind !== 'began') continue;
      const { process, gpu, what, action, localNs, earliestNs, latestNs, atNs } = event;
      const who = `${what} ${action} of ${process}, GPU ${gpu},`;
      const concerns = (one: object) => 'action' in one && one.action === action;
      if (localNs > latestNs)
        findings.add(atNs, `${who} begins ${localNs - latestNs} ns after the end of its window`, concerns);
      if (localNs < earliestNs)
        findings.add(atNs, `${who} begins ${earliestNs - localNs} ns before its window`, concerns);
      const lane = `${process} ${gpu} ${what}`;
      const other = running.get(lane);
      if (other !== undefined) findings.add(atNs, `${who} begins while ${what} ${other} runs`, concerns);
      running.set(lane, action);
    }
    return findings.list;
  },
};

type Opened = Extract<HistoryEvent, { readonly kind: 'streamOpened' }>;

/** A controller that learns of a clock through links that are slow is wrong by less. */
const SLACK_NS = NS_PER_S;
/** The longest that policies plan ahead: LOADs and INFERs that wait for each other. */
const AHEAD_NS = 10 * NS_PER_S;
/** So soon it notices that a clock has jumped. */
const NOTICED_NS = 5 * NS_PER_S;

/**
 * Windows are in the clock of the worker's machine: none has ended long before it is sent, and none lies far ahead. Clocks that have
 * just jumped, and processes that have just stood still, are excused.
 */
export const clocks: Check = {
  name: 'clocks',
  run({ events, scenario }: History) {
    const findings = new Findings('clocks');
    const streams = new Map<number, Opened>();
    for (const event of events) {
      if (event.kind === 'streamOpened') streams.set(event.stream, event);
      if (event.kind !== 'windowsSent') continue;
      const { stream, pastNs, aheadNs, atNs } = event;
      const ends = streams.get(stream);
      const [past, ahead] = [pastNs ?? 0, aheadNs ?? 0];
      if (ends === undefined || (past <= SLACK_NS && ahead <= AHEAD_NS + SLACK_NS)) continue;
      const { controller, worker } = ends;
      const names = [nameOf(controller), nameOf(worker)];
      if (scenario.faults.some((fault) => disturbs(fault, names, atNs))) continue;
      const how = past > SLACK_NS ? `ended ${past} ns before` : `begins ${ahead} ns after`;
      const what = `${controller} sends ${worker} an action whose window ${how}, by the clock of the worker`;
      findings.add(atNs, what, (one) => 'stream' in one && one.stream === stream);
    }
    return findings.list;
  },
};

function disturbs(fault: Fault, names: readonly string[], atNs: number): boolean {
  if (fault.atNs > atNs || atNs > endNsOf(fault) + NOTICED_NS) return false;
  if (fault.kind === 'clockJump') return names.includes(fault.machine);
  return (fault.kind === 'freeze' || fault.kind === 'threadHangs') && names.includes(fault.process);
}

/** What was heard on one stream between a controller and a worker. */
interface Stream {
  readonly controller: ProcessLife;
  readonly worker: ProcessLife;
  /** Actions that reached the worker on it. */
  readonly arrived: Set<number>;
  isOpen: boolean;
}

/**
 * A worker has one driver at a time: what begins on its devices was ordered by the stream that became the driver last; no
 * action begins twice; results go only to the stream that ordered the action; a
 * lease that is taken goes to a higher term, or with equal terms to a later name, and only after something went wrong.
 */
export const oneDriver: Check = {
  name: 'one driver',
  run(history: History) {
    return new DriverCheck(history.scenario).run(history);
  },
};

type LeaseSaid = Extract<HistoryEvent, { readonly kind: 'leaseSaid' }>;

class DriverCheck {
  private readonly findings = new Findings('one driver');
  private readonly streams = new Map<number, Stream>();
  /** By worker: the stream that it has declared itself idle for last. */
  private readonly drivers = new Map<ProcessLife, number>();
  /** By worker: what it has said of its lease last. */
  private readonly leases = new Map<ProcessLife, LeaseSaid>();
  /** By worker: when its lease was free last. */
  private readonly freeNs = new Map<ProcessLife, number>();
  /** Actions that began, by stream and action. */
  private readonly begun = new Set<string>();

  constructor(private readonly scenario: Scenario) {}

  run({ events }: History) {
    for (const event of events) {
      if (event.kind === 'streamOpened') {
        const { controller, worker } = event;
        this.streams.set(event.stream, { controller, worker, arrived: new Set(), isOpen: true });
      } else if (event.kind === 'stateSaid') this.becameDriver(event.stream);
      else if (event.kind === 'leaseSaid') this.saidLease(event);
      else if (event.kind === 'actionsArrived') {
        for (const action of event.actions) this.streams.get(event.stream)?.arrived.add(action);
      } else if (event.kind === 'resultsSent') this.sentResults(event.stream, event.actions, event.atNs);
      else if (event.kind === 'began') this.began(event.process, event.action, event.what, event.atNs);
    }
    return this.findings.list;
  }

  private becameDriver(stream: number): void {
    const worker = this.streams.get(stream)?.worker;
    if (worker !== undefined) this.drivers.set(worker, stream);
  }

  private saidLease(lease: LeaseSaid): void {
    const worker = this.streams.get(lease.stream)?.worker;
    if (worker === undefined) return;
    const before = this.leases.get(worker);
    this.leases.set(worker, lease);
    if (lease.driver === '') this.freeNs.set(worker, lease.atNs);
    if (before === undefined || before.driver === '' || lease.driver === '') return;
    if (before.driver === lease.driver) return;
    const isAllowed = outranks(lease, before);
    const wasFreeNs = this.freeNs.get(worker) ?? Number.NEGATIVE_INFINITY;
    const isAgreedOn = lease.atNs >= wasFreeNs + AGREE_NS;
    if (isAllowed && (!isAgreedOn || mayChangeDriver(this.scenario, lease.atNs))) return;
    const what = `${worker} is taken from ${before.driver} (term ${before.term}) by ${lease.driver} (term ${lease.term})`;
    this.findings.add(lease.atNs, isAllowed ? `${what}, without a reason for that` : what);
  }

  private began(worker: ProcessLife, action: number, what: string, atNs: number): void {
    const driver = this.drivers.get(worker);
    const stream = driver === undefined ? undefined : this.streams.get(driver);
    const concerns = (event: object) => 'action' in event && event.action === action;
    if (stream === undefined || !stream.arrived.has(action)) {
      const whose = stream === undefined ? 'no controller drives it' : `${stream.controller} drives it`;
      this.findings.add(
        atNs,
        `${worker} begins ${what} ${action}, which its driver did not order: ${whose}`,
        concerns,
      );
      return;
    }
    const key = `${driver} ${action}`;
    if (this.begun.has(key))
      this.findings.add(atNs, `${worker} begins ${what} ${action} for the second time`, concerns);
    this.begun.add(key);
  }

  private sentResults(stream: number, actions: readonly number[], atNs: number): void {
    const known = this.streams.get(stream);
    if (known === undefined) return;
    for (const action of actions) {
      if (known.arrived.delete(action)) continue;
      const what = `${known.worker} sends ${known.controller} a result of action ${action}, which it did not order or has had already`;
      this.findings.add(atNs, what);
    }
  }
}

function outranks(one: LeaseSaid, other: LeaseSaid): boolean {
  return one.term === other.term ? one.driver > other.driver : one.term > other.term;
}

/** What a device holds, by what it was seen to do. */
class DeviceWeights {
  readonly present = new Set<string>();
  loading: { readonly action: number; readonly model: string } | null = null;
  executing: { readonly action: number; readonly model: string } | null = null;
}

/** As published it evicts what was used least recently, whether it runs or not. */
const EVICTS_WHAT_RUNS = 'clockwork';

/**
 * No device holds more than its cache, and none loses weights that it uses. In a quiet moment the controller that drives a GPU
 * knows exactly what the GPU holds, and counts its pages right.
 */
export const weights: Check = {
  name: 'weights',
  run(history: History) {
    return new WeightsCheck(history).run();
  },
};

class WeightsCheck {
  private readonly findings = new Findings('weights');
  /** By the name of the worker and its GPU. */
  private readonly devices = new Map<string, DeviceWeights>();
  private readonly pages: ReadonlyMap<string, number>;

  constructor(private readonly history: History) {
    this.pages = new Map(history.scenario.cluster.models.map(({ name, pages }) => [name, pages]));
  }

  run() {
    for (const event of this.history.events) {
      if (event.kind === 'executorStarted')
        for (const gpu of event.gpus)
          this.devices.set(`${nameOf(event.process)} ${gpu}`, new DeviceWeights());
      else if (event.kind === 'began' && event.what === 'LOAD') this.beginLoad(event);
      else if (event.kind === 'began') this.checkPresent(event);
      else if (event.kind === 'ended') this.end(event);
      else if (event.kind === 'unloaded') this.unload(event);
      else if (event.kind === 'snapshot' && event.drives && event.actions === 0)
        for (const gpu of event.gpus) this.compare(gpu, event.atNs, event.process);
    }
    return this.findings.list;
  }

  private device({ process, gpu }: { readonly process: string; readonly gpu: number }): DeviceWeights {
    const key = `${nameOf(process)} ${gpu}`;
    const device = this.devices.get(key) ?? new DeviceWeights();
    this.devices.set(key, device);
    return device;
  }

  private beginLoad(event: Extract<HistoryEvent, { readonly kind: 'began' }>): void {
    const device = this.device(event);
    const machine = this.history.scenario.cluster.machines.find(({ name }) => name === nameOf(event.process));
    if (machine?.lacks?.includes(event.model) === true)
      this.findings.add(
        event.atNs,
        `LOAD ${event.action} begins on ${event.process}, which lacks ${event.model}`,
      );
    device.present.delete(event.model);
    device.loading = event;
    const used = this.pagesOf([...device.present, event.model]);
    const pages = pagesOn(this.history.scenario.cluster, nameOf(event.process));
    if (used <= pages) return;
    const what = `LOAD ${event.action} of ${event.model} begins on ${event.process}, GPU ${event.gpu}: it would hold ${used} of ${pages} pages`;
    this.findings.add(event.atNs, what, (one) => 'action' in one && one.action === event.action);
  }

  private checkPresent(event: Extract<HistoryEvent, { readonly kind: 'began' }>): void {
    const device = this.device(event);
    device.executing = event;
    if (device.present.has(event.model)) return;
    const what = `INFER ${event.action} begins on ${event.process}, GPU ${event.gpu}, which does not hold ${event.model}`;
    this.findings.add(event.atNs, what, (one) => 'model' in one && one.model === event.model);
  }

  private end(event: Extract<HistoryEvent, { readonly kind: 'ended' }>): void {
    const device = this.device(event);
    if (device.executing?.action === event.action) device.executing = null;
    if (device.loading?.action !== event.action) return;
    if (event.isOk) device.present.add(device.loading.model);
    device.loading = null;
  }

  private unload(event: Extract<HistoryEvent, { readonly kind: 'unloaded' }>): void {
    const device = this.device(event);
    device.present.delete(event.model);
    const { cluster } = this.history.scenario;
    if (device.executing?.model !== event.model || cluster.policy.kind === EVICTS_WHAT_RUNS) return;
    const what = `${event.model} is unloaded on ${event.process}, GPU ${event.gpu}, while INFER ${device.executing.action} of it runs`;
    this.findings.add(event.atNs, what, (one) => 'gpu' in one && one.gpu === event.gpu);
  }

  private compare({ worker, gpu, warm, freePages }: GpuSnapshot, atNs: number, controller: string): void {
    const present = [...(this.devices.get(`${worker} ${gpu}`)?.present ?? [])].sort();
    const concerns = (event: HistoryEvent) =>
      'gpu' in event && event.gpu === gpu && nameOf(event.process) === worker;
    const believed = [...warm].sort();
    if (believed.join() !== present.join()) {
      const what = `${controller} believes that GPU ${gpu} of ${worker} holds [${believed}], and it holds [${present}]`;
      this.findings.add(atNs, what, concerns);
      return;
    }
    const free = pagesOn(this.history.scenario.cluster, worker) - this.pagesOf(present);
    if (free === freePages) return;
    const what = `${controller} counts ${freePages} free pages on GPU ${gpu} of ${worker}, and there are ${free}`;
    this.findings.add(atNs, what, concerns);
  }

  private pagesOf(models: readonly string[]): number {
    return models.reduce((sum, model) => sum + (this.pages.get(model) ?? 0), 0);
  }
}
