import type { Socket } from 'node:net';
import type { InferenceService } from '../service.js';
import { ApiErrorCounts, asApiError } from './api-error.js';
import { type Account, Budget, budgetLimits } from './budget.js';
import { Catalog } from './catalog.js';
import type { FrontendEvents, FrontendSettings } from './frontend.js';
import { tenantFinder } from './headers.js';

/** State shared by all requests of one frontend. */
export class Site {
  readonly catalog: Catalog;
  readonly apiErrors: ApiErrorCounts;
  /** Finds the index of a request's tenant. */
  readonly tenantOf: ReturnType<typeof tenantFinder>;
  isClosing = false;
  private readonly budget: Budget;

  constructor(
    transport: 'http' | 'grpc',
    readonly service: InferenceService,
    readonly settings: FrontendSettings,
    readonly events: FrontendEvents,
  ) {
    this.catalog = new Catalog(service, settings);
    this.apiErrors = new ApiErrorCounts(settings.apiErrors, transport);
    this.tenantOf = tenantFinder(settings.tenants);
    this.budget = new Budget(budgetLimits(settings), settings.budget ?? undefined);
  }

  /** Lets a connection in until it closes. Throws an `ApiError` if there are as many as there may be. */
  admit(socket: Socket): Account {
    const account = this.accountOf(socket);
    try {
      account.enter();
    } catch (error) {
      this.apiErrors.add(asApiError(error).kind);
      this.events.turnedAway(account.client);
      throw error;
    }
    socket.once('close', () => account.leave());
    return account;
  }

  accountOf({ remoteAddress }: Socket): Account {
    return this.budget.open(remoteAddress);
  }
}
