import type { InferenceService } from '../../service.js';
import type { Protocols } from '../grpc-messages.js';
import { Refusal, shown } from '../refusal.js';
import { framed } from './infer-response.js';
import { readNamedModel } from './requests.js';
import type { Rpc, RpcMethod } from './rpc.js';

/** How often a watched service is looked at. */
const WATCH_MS = 250;
/** Watches at a time, of all clients; each costs a look four times a second. */
const MAX_WATCHES = 1000;

const UNKNOWN = 0;
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

/**
 * grpc.health.v1, as probes of orchestrators ask it: of the server, by the empty name or that of the service of the
 * protocol. Everybody may ask, so it says nothing of models: ModelReady does.
 */
export class HealthMethods {
  readonly methods: ReadonlyMap<string, RpcMethod>;
  private readonly serialize: (response: object) => Uint8Array;
  private readonly watches = new Map<Rpc, { name: string; status: number }>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly service: InferenceService,
    protocols: Protocols,
  ) {
    const { Check, Watch } = protocols.service('grpc.health.v1.Health');
    this.serialize = Check.responseSerialize;
    const common = { isOpen: true, isStream: false, maxMessageBytes: 4096 };
    this.methods = new Map<string, RpcMethod>([
      [Check.path, { ...common, message: (rpc, bytes) => this.check(rpc, readNamedModel(bytes).name) }],
      [Watch.path, { ...common, message: (rpc, bytes) => this.watch(rpc, readNamedModel(bytes).name) }],
    ]);
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.watches.clear();
  }

  private check(rpc: Rpc, name: string): void {
    const status = this.statusOf(name);
    if (status === SERVICE_UNKNOWN) throw new Refusal('unknown', `unknown service ${shown(name)}`);
    rpc.finish([this.message(status)]);
  }

  private watch(rpc: Rpc, name: string): void {
    if (this.watches.size >= MAX_WATCHES)
      throw new Refusal('overBudget', `there are ${MAX_WATCHES} watches already: try again later`);
    this.watches.set(rpc, { name, status: UNKNOWN });
    rpc.onGone = () => this.watches.delete(rpc);
    this.timer ??= setInterval(() => this.look(), WATCH_MS);
    this.timer.unref();
    this.look();
  }

  private look(): void {
    for (const [rpc, watch] of this.watches) {
      const status = this.statusOf(watch.name);
      if (status === watch.status) continue;
      watch.status = status;
      rpc.send([this.message(status)]);
    }
  }

  private statusOf(name: string): number {
    if (name !== '' && name !== 'inference.GRPCInferenceService') return SERVICE_UNKNOWN;
    return this.service.state.notReady === null ? SERVING : NOT_SERVING;
  }

  private message(status: number): Uint8Array {
    return framed(this.serialize({ status }));
  }
}
