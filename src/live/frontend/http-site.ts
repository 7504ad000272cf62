import type { Socket } from 'node:net';
import { httpDate, unixMs } from '../../base/clock/wall-clock.js';
import { DRAINING, type InferenceService } from '../service.js';
import { type Account, Budget, budgetLimits } from './budget.js';
import { codecOptions } from './codec/codec-options.js';
import { CodecPool } from './codec/codec-pool.js';
import type { FrontendSettings } from './frontend.js';
import { Origins } from './origins.js';
import { OverRate } from './over-rate.js';
import { ReadingTurns } from './reading-turns.js';
import { RefusalCounts } from './refusal-counts.js';
import { type CutOff, SlowClients } from './slow-clients.js';
import { TenantNames } from './tenant-names.js';
import { TurnedAway } from './turned-away.js';

/** A connection with its account. */
type CountedSocket = Socket & { frontendAccount?: Account };

interface HttpTimeouts {
  readonly receiveTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

const MS_PER_S = 1000;
const CLOSES = 'Connection: close\r\n\r\n';

/** What all requests of one HTTP frontend share. */
export class HttpSite {
  readonly slow: SlowClients;
  readonly turns = new ReadingTurns();
  readonly origins: Origins;
  readonly codec: CodecPool;
  readonly refusals: RefusalCounts;
  readonly tenants: TenantNames;
  readonly overRate: OverRate;
  isClosing = false;
  readonly budget: Budget;
  private readonly staysOpen: string;
  private second = 0;
  private date = '';

  constructor(
    readonly service: InferenceService,
    readonly settings: FrontendSettings,
    { idleTimeoutMs, ...timeouts }: HttpTimeouts,
    cutOff?: CutOff,
    turnedAway = new TurnedAway(),
  ) {
    const { maxJsonBytes, budget, cors, token, refusals } = settings;
    const seconds = Math.floor(idleTimeoutMs / MS_PER_S);
    this.staysOpen = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`;
    this.tenants = new TenantNames(settings.tenants);
    this.overRate = new OverRate(settings.tenants.list, turnedAway);
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
    const account = this.budget.open(socket.remoteAddress);
    socket.frontendAccount = account;
    // Clients that give up end their side first, and are gone for good when they are written to.
    const gone = () => account.cancel();
    socket.on('end', gone);
    socket.on('close', gone);
    return account;
  }

  /** The last lines of a head, as Node writes them. */
  lastHeaders(keepsAlive: boolean): string {
    const second = Math.floor(unixMs() / MS_PER_S);
    if (second !== this.second) {
      this.second = second;
      this.date = `Date: ${httpDate(second * MS_PER_S)}\r\n`;
    }
    return this.date + (keepsAlive ? this.staysOpen : CLOSES);
  }

  async close(): Promise<void> {
    this.slow.close();
    await this.codec.close();
  }
}
