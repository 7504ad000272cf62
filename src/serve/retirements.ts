import { pause } from '../base/world/pause.js';
import type { Time } from '../base/world/time.js';
import type { DeploymentEvents, ModelHost } from './deployment-options.js';
import type { Deployed } from './model-table.js';
import type { Tickets } from './tickets.js';

/** How long frontends may take to learn of a change: so long a model that was replaced still takes requests. */
const LINGER_MS = 250;

/** What of a version is taken away. */
type Leaving = Pick<Deployed, 'name' | 'version' | 'ticket'>;

/** Takes versions away from the workers, and says in the log why. */
export class Retirements {
  constructor(
    private readonly host: ModelHost,
    private readonly tickets: Tickets,
    private readonly events: DeploymentEvents,
    private readonly time: Time,
  ) {}

  /**
   * `leave` says where requests of the ticket go from now on, when frontends have had time to learn it. Resolves when the
   * memory is free.
   */
  async retire(
    { name, version, ticket }: Leaving,
    why: string,
    leave: () => void,
    lingerMs = LINGER_MS,
  ): Promise<void> {
    await pause(this.time, lingerMs);
    const index = this.tickets.indexOf(ticket);
    leave();
    if (index >= 0) await this.host.retireModel(index);
    this.events.info({ model: name, version, why }, 'unloaded');
  }

  /** The same while other things go on. */
  retireLater(leaving: Leaving, why: string, leave: () => void): void {
    this.retire(leaving, why, leave).catch(({ message }: Error) =>
      this.events.warn({ error: message }, 'a model cannot be retired'),
    );
  }
}
