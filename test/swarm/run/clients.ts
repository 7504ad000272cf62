import { exponential } from '../../../src/base/random/distributions.js';
import { type Random, stream } from '../../../src/base/random/streams.js';
import { NS_PER_MS, NS_PER_S } from '../../../src/base/units.js';
import { OUTCOME_NAMES } from '../../../src/core/request.js';
import { FREE, hasFreeSizes, type ServedModel } from '../../../src/live/model.js';
import type { InferenceAnswer, InferenceRequest, InferenceService } from '../../../src/live/service.js';
import { rowBytes, rowsOf } from '../scenario/expected.js';
import type { ClientScenario, ModelChangeScenario, Scenario } from '../scenario/scenario.js';
import type { Simulation } from '../world/index.js';
import type { Recorder } from './recorder.js';

/** A frontend of a controller, as clients reach it. */
export interface Door {
  readonly process: string;
  readonly service: InferenceService;
  /** Runs in the thread of the frontend, unless that ends before. */
  enter(run: () => void): void;
}

/** Who asks. */
type Asking = Pick<ClientScenario, 'name' | 'requestClass' | 'tenant'> &
  Partial<Pick<ClientScenario, 'patienceNs'>>;

/** What a client does next after a request was refused or cut off. */
const REPEAT_NS = 250 * NS_PER_MS;

/** All clients of a run, in the frontends' threads. */
export class Clients {
  /** By name of the controller's process. */
  readonly doors = new Map<string, Door>();
  private lastRequest = 0;
  /** By request: what to do if its frontend ends. */
  private readonly open = new Map<number, { readonly process: string; readonly cutOff: () => void }>();

  constructor(
    private readonly simulation: Simulation,
    private readonly scenario: Scenario,
    private readonly recorder: Recorder,
  ) {}

  start(): void {
    const { clients, changes } = this.scenario.workload;
    for (const client of clients) this.startClient(client);
    for (const change of changes) this.simulation.at(change.atNs, () => this.change(change));
  }

  /** A client of the frontend waits for an answer. */
  wait(process: string): boolean {
    return [...this.open.values()].some((one) => one.process === process);
  }

  /** The thread of a frontend has ended: its connections are cut. */
  closed(process: string): void {
    for (const [name, door] of this.doors) if (door.process === process) this.doors.delete(name);
    for (const [request, { process: asked, cutOff }] of [...this.open]) {
      if (asked !== process) continue;
      this.open.delete(request);
      cutOff();
    }
  }

  /** One request, with its fate: whether it was answered in time. Nothing comes if there is no server to ask. */
  ask(client: Asking, model: string, sloNs: number, done: (isOk: boolean) => void): void {
    const door = this.choose();
    if (door === null) {
      done(false);
      return;
    }
    door.enter(() => this.askIn(door, client, model, sloNs, done));
  }

  /** A client of the model repository. It tries where it is ready, once. */
  change({ kind, model }: Pick<ModelChangeScenario, 'kind' | 'model'>): void {
    const door = this.choose();
    door?.enter(() => {
      this.recorder.add({ atNs: this.simulation.nowNs, kind: 'modelChange', change: kind, model });
      // Why it is refused is for the client.
      door.service[kind](model).catch(() => {});
    });
  }

  private startClient(client: ClientScenario): void {
    const random = stream(this.scenario.seed, `client/${client.name}`);
    const next = (atNs: number) => {
      const laterNs = atNs + Math.ceil((exponential(random) * client.burst * NS_PER_S) / client.rateRps);
      if (laterNs >= client.endNs) return;
      this.simulation.at(laterNs, () => {
        for (let i = 0; i < client.burst; i++) this.request(client, random, client.repeats);
        next(laterNs);
      });
    };
    next(client.beginNs);
  }

  private request(client: ClientScenario, random: Random, repeats: number): void {
    const model = client.models[Math.floor(random() * client.models.length)];
    this.attempt(client, model, repeats, this.simulation.nowNs);
  }

  private attempt(client: ClientScenario, model: string, repeats: number, sinceNs: number): void {
    this.ask(client, model, client.sloNs, (isOk) => {
      const { nowNs } = this.simulation;
      const hasPatience = client.patienceNs === null || nowNs - sinceNs < client.patienceNs;
      if (isOk || repeats === 0 || !hasPatience || nowNs >= this.scenario.loadNs) return;
      this.simulation.at(nowNs + REPEAT_NS, () => this.attempt(client, model, repeats - 1, sinceNs));
    });
  }

  /** As a load balancer does: one that is ready, else any that is there. */
  private choose(): Door | null {
    const doors = [...this.doors.values()];
    return doors.find(({ service }) => service.state.notReady === null) ?? doors[0] ?? null;
  }

  private askIn(
    door: Door,
    { name: client, requestClass, tenant, patienceNs = null }: Asking,
    model: string,
    sloNs: number,
    done: (isOk: boolean) => void,
  ): void {
    const { simulation, recorder } = this;
    const { process, service } = door;
    if (![...this.doors.values()].includes(door)) {
      // It has closed since.
      done(false);
      return;
    }
    const request = ++this.lastRequest;
    const sender = {
      ...(requestClass === undefined ? {} : { requestClass }),
      ...(tenant === undefined ? {} : { tenant }),
    };
    const from = { client, ...sender };
    recorder.add({ atNs: simulation.nowNs, kind: 'asked', request, ...from, process, model, sloNs });
    const { notReady, takesRequests = false, entries } = service.state;
    const entry = entries.find(({ name, isDefault }) => name === model && isDefault);
    const why =
      notReady !== null && !takesRequests ? notReady : entry?.state === 'ready' ? '' : 'it is not ready';
    if (why !== '' || entry === undefined || entry.model === null) {
      recorder.add({ atNs: simulation.nowNs, kind: 'refused', request, why });
      done(false);
      return;
    }
    this.open.set(request, { process, cutOff: () => done(false) });
    const asked: InferenceRequest = {
      ...{ model: entry.index, user: 0, ...sender, sloNs, ...tensorsOf(entry.model, request) },
      done: (answer) => {
        this.answered(request, answer, rowBytes(this.scenario.cluster, model));
        done(answer.outcome === 0);
      },
    };
    service.infer(asked);
    if (patienceNs !== null)
      simulation.at(simulation.nowNs + patienceNs, () => this.leave(door, request, asked));
  }

  /** Unless its answer is there, or its frontend has ended. */
  private leave(door: Door, request: number, asked: InferenceRequest): void {
    if (!this.open.has(request)) return;
    door.enter(() => {
      if (!this.open.has(request)) return;
      this.recorder.add({ atNs: this.simulation.nowNs, kind: 'left', request });
      asked.keeper?.cancel(asked);
    });
  }

  private answered(request: number, { outcome, error, outputs }: InferenceAnswer, bytesOfRow: number): void {
    this.open.delete(request);
    this.recorder.add({
      atNs: this.simulation.nowNs,
      kind: 'answered',
      request,
      outcome: OUTCOME_NAMES[outcome],
      error,
      outputBytes: outputs.map(({ length }) => length),
      numbers: outputs.map((output) =>
        Array.from({ length: output.length / bytesOfRow }, (_, row) =>
          new DataView(output.buffer, output.byteOffset).getFloat32(row * bytesOfRow, true),
        ),
      ),
    });
  }
}

/** Each row of an input begins with the number of the request. */
function tensorsOf({ signature }: ServedModel, request: number): Pick<InferenceRequest, 'inputs' | 'shapes'> {
  const tensors = signature.inputs.map(({ shape, bytes }) => {
    const numbers = shape[0] === FREE ? rowsOf(request) : [request];
    const memory = new Uint8Array(numbers.length * bytes);
    for (const [row, number] of numbers.entries())
      new DataView(memory.buffer).setFloat32(row * bytes, number, true);
    return { memory, shape: shape.map((size) => (size === FREE ? numbers.length : size)) };
  });
  return {
    inputs: tensors.map(({ memory }) => memory),
    ...(hasFreeSizes(signature) && { shapes: tensors.map(({ shape }) => shape) }),
  };
}
