import { DRAINING, type InferenceService } from '../service.js';
import { ApiErrorCounts } from './api-error-counts.js';
import { Budget, budgetLimits } from './budget.js';
import { Catalog } from './catalog.js';
import { Codec } from './codec.js';
import type { CutOff, FrontendSettings } from './frontend.js';
import { Origins } from './origins.js';
import { TenantNames } from './tenant-names.js';
import { TokenCheck } from './token.js';

/** State shared by all requests of one HTTP frontend. */
export class HttpSite {
  readonly catalog: Catalog;
  readonly codec: Codec;
  readonly budget: Budget;
  readonly apiErrors: ApiErrorCounts;
  readonly tenants: TenantNames;
  readonly origins: Origins;
  readonly token: TokenCheck;
  isClosing = false;

  constructor(
    readonly service: InferenceService,
    readonly settings: FrontendSettings,
    /** Hears of clients that are too slow. */
    readonly cutOff: CutOff,
  ) {
    this.catalog = new Catalog(service, settings);
    this.codec = new Codec(settings.maxJsonBytes);
    this.budget = new Budget(budgetLimits(settings), settings.budget ?? undefined);
    this.apiErrors = new ApiErrorCounts(settings.apiErrors, 'http');
    this.tenants = new TenantNames(settings.tenants);
    this.origins = new Origins(settings.cors, settings.token !== null);
    this.token = new TokenCheck(settings.token);
  }

  /** Answers say that the connection ends with them. */
  get endsConnections(): boolean {
    return this.isClosing || this.service.state.notReady === DRAINING;
  }
}
