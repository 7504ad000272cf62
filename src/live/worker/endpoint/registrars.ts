import { REAL_TIME } from '../../../base/world/real-time.js';
import type { Timer } from '../../../base/world/time.js';
import { formatAddress } from '../../wire/address.js';
import type { ClientTls } from '../../wire/credentials.js';
import type { Network } from '../../wire/network.js';
import { REAL_NETWORK } from '../../wire/real-network.js';
import { Registrar, type RegistrarOptions } from './registrar.js';

/** Interval between lookups of the controllers' addresses. */
const LOOKUP_MS = 5000;

/**
 * Keeps a worker registered with all controllers behind a name: a controller and its standby may share one. Problems
 * are reported, never thrown.
 */
export class Registrars {
  private readonly host: string;
  private readonly port: number;
  /** By address. */
  private readonly registrars = new Map<string, Registrar>();
  private readonly network: Network;
  private readonly timer: Timer;
  private tls: ClientTls | undefined;
  private isOver = false;
  private isLooking = false;

  /** `controller`: HOST:PORT. */
  constructor(private readonly options: Omit<RegistrarOptions, 'serverName'>) {
    const { controller, time = REAL_TIME, network = REAL_NETWORK } = options;
    const colon = controller.lastIndexOf(':');
    this.host = controller.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
    this.port = Number(controller.slice(colon + 1));
    this.tls = options.tls;
    this.network = network;
    this.timer = time.every(LOOKUP_MS, () => void this.look());
    void this.look();
  }

  /** Sets the trusted authority for later connections. */
  trust(tls: ClientTls): void {
    this.tls = tls;
    for (const registrar of this.registrars.values()) registrar.trust(tls);
  }

  /** Removes the worker from the lists of all controllers. */
  async leave(): Promise<void> {
    this.isOver = true;
    this.timer.cancel();
    await Promise.all([...this.registrars.values()].map((registrar) => registrar.leave()));
  }

  /** One lookup at a time: a slow one is not repeated, and none can end after a newer one. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      this.follow(await this.network.lookup(this.host));
    } catch (error) {
      this.complain((error as Error).message);
    } finally {
      this.isLooking = false;
    }
  }

  private complain(why: string): void {
    const { options } = this;
    if (!this.isOver) options.log(`controller ${options.controller}: its name is not found: ${why}`, true);
  }

  /** Applies the current addresses of the controllers. */
  private follow(found: readonly string[]): void {
    const { registrars } = this;
    if (this.isOver) return;
    for (const [address, registrar] of registrars) {
      if (found.includes(address)) continue;
      registrars.delete(address);
      void registrar.leave();
    }
    for (const address of found)
      if (!registrars.has(address)) registrars.set(address, this.registerAt(address));
  }

  private registerAt(address: string): Registrar {
    const { host, port, tls, options } = this;
    return new Registrar({ ...options, tls, controller: formatAddress(address, port), serverName: host });
  }
}
