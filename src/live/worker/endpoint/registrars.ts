import { lookup } from 'node:dns/promises';
import { monotonicNs } from '../../../base/clock/clock.js';
import { Repeats } from '../../repeats.js';
import { formatAddress } from '../../wire/address.js';
import type { ClientTls } from '../../wire/credentials.js';
import { Registrar, type RegistrarOptions } from './registrar.js';

/** So often it is looked up which controllers there are. */
const LOOKUP_MS = 5000;

/**
 * Keeps a worker registered with the controllers behind a name, however many there are: a controller and its standby may share
 * one. What goes wrong is reported, never thrown.
 */
export class Registrars {
  private readonly host: string;
  private readonly port: number;
  /** By address. */
  private readonly registrars = new Map<string, Registrar>();
  private readonly repeats = new Repeats();
  private readonly timer: NodeJS.Timeout;
  private tls: ClientTls | undefined;
  private isOver = false;

  /** `controller`: HOST:PORT. */
  constructor(
    private readonly options: Omit<RegistrarOptions, 'serverName'>,
    private readonly addressesOf = addressesByName,
  ) {
    const { controller } = options;
    const colon = controller.lastIndexOf(':');
    this.host = controller.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
    this.port = Number(controller.slice(colon + 1));
    this.tls = options.tls;
    this.timer = setInterval(() => void this.look(), LOOKUP_MS);
    void this.look();
  }

  /** Connections that come later trust this authority instead. */
  trust(tls: ClientTls): void {
    this.tls = tls;
    for (const registrar of this.registrars.values()) registrar.trust(tls);
  }

  /** Takes the worker off the lists of all controllers. */
  async leave(): Promise<void> {
    this.isOver = true;
    clearInterval(this.timer);
    await Promise.all([...this.registrars.values()].map((registrar) => registrar.leave()));
  }

  private async look(): Promise<void> {
    const { host, registrars, options } = this;
    let found: readonly string[];
    try {
      found = await this.addressesOf(host);
    } catch (error) {
      if (!this.isOver && this.repeats.toSay('', monotonicNs()) > 0)
        options.log(
          `controller ${options.controller}: its name is not found: ${(error as Error).message}`,
          true,
        );
      return;
    }
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

/** Of one kind only, since a controller may have both: IPv4 where there are such. */
async function addressesByName(host: string): Promise<readonly string[]> {
  const all = await lookup(host, { all: true });
  const older = all.filter(({ family }) => family === 4);
  return (older.length > 0 ? older : all).map(({ address }) => address);
}
