import type { Socket } from 'node:net';
import { DRAINING, type InferenceService } from '../service.js';
import { type Account, Budget, budgetLimits } from './budget.js';
import { codecOptions } from './codec/codec-options.js';
import { CodecPool } from './codec/codec-pool.js';
import type { FrontendSettings } from './frontend.js';
import { Origins } from './origins.js';
import { ReadingTurns } from './reading-turns.js';
import { RefusalCounts } from './refusal-counts.js';
import { type CutOff, SlowClients } from './slow-clients.js';

/** A connection with its account. */
type CountedSocket = Socket & { frontendAccount?: Account };

/** What all requests of one HTTP frontend share. */
export class HttpSite {
  readonly slow: SlowClients;
  readonly turns = new ReadingTurns();
  readonly origins: Origins;
  readonly codec: CodecPool;
  readonly refusals: RefusalCounts;
  isClosing = false;
  readonly budget: Budget;

  constructor(
    readonly service: InferenceService,
    readonly settings: FrontendSettings,
    timeouts: { readonly receiveTimeoutMs: number; readonly sendTimeoutMs: number },
    cutOff?: CutOff,
  ) {
    const { maxJsonBytes, budget, cors, token, refusals } = settings;
    this.slow = new SlowClients({ ...timeouts, nowNs: () => service.nowNs() }, cutOff);
    this.origins = new Origins(cors, token !== null);
    this.budget = new Budget(budgetLimits(settings), budget ?? undefined);
    this.refusals = new RefusalCounts(refusals, 'http');
    this.codec = new CodecPool(codecOptions(maxJsonBytes));
  }

  /** Answers say that the connection ends with them. */
  get endsConnections(): boolean {
    return this.isClosing || this.service.state.notReady === DRAINING;
  }

  accountOf(socket: CountedSocket): Account {
    if (socket.frontendAccount !== undefined) return socket.frontendAccount;
    socket.frontendAccount = this.budget.open(socket.remoteAddress);
    return socket.frontendAccount;
  }

  async close(): Promise<void> {
    this.slow.close();
    await this.codec.close();
  }
}
