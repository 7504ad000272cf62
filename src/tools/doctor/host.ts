import { readdirSync, readFileSync } from 'node:fs';
import type { Provider } from '../../live/device.js';
import type { Role } from './check.js';

/** What the checks read from the machine; tests replace it with recorded machines. */
export interface Host {
  /** As Node names it: `linux`, `darwin`, … */
  readonly platform: string;
  /** `20.19.0` */
  readonly nodeVersion: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The C library is glibc, whose allocator has settings. */
  readonly isGlibc: boolean;
  /** Memory that this process can still have, also by the limits of its container; null: the system does not tell. */
  readonly availableBytes: number | null;
  /** Text of a file; null: there is none, or it may not be read. */
  read(path: string): string | null;
  /** Names in a folder, none if there is no such folder. */
  list(path: string): readonly string[];
}

/** A machine, and what it is to be used for. */
export interface Machine {
  readonly host: Host;
  readonly role: Role;
  readonly device: Provider;
  /** Size of the weights cache that has to fit into the device's memory. */
  readonly cacheBytes: number;
}

/** The machine on which this process runs. */
export function thisHost(): Host {
  return {
    platform: process.platform,
    nodeVersion: process.versions.node,
    env: process.env,
    isGlibc: isGlibc(),
    // On macOS, free memory leaves out what can be reclaimed.
    availableBytes: process.platform === 'darwin' ? null : process.availableMemory(),
    read: (path) => orElse(() => readFileSync(path, 'utf8'), null),
    list: (path) => orElse(() => readdirSync(path), []),
  };
}

/** Kernel and login settings of a container are those of the machine around it, and are made there. */
export function isContainer(host: Host): boolean {
  return (
    host.read('/.dockerenv') !== null ||
    host.read('/run/.containerenv') !== null ||
    // LXC and systemd set `container`; Kubernetes sets the address of its services.
    host.env.container !== undefined ||
    host.env.KUBERNETES_SERVICE_HOST !== undefined ||
    /docker|containerd|kubepods|lxc/.test(host.read('/proc/1/cgroup') ?? '')
  );
}

/** systemd is what starts the machine, so that its folders of settings have an effect. */
export function hasSystemd(host: Host): boolean {
  return host.list('/run/systemd').includes('system');
}

function isGlibc(): boolean {
  if (process.platform !== 'linux') return false;
  // Node has no other way to tell. Looking up names of network interfaces would take seconds.
  const { report } = process as typeof process & { report: { excludeNetwork: boolean } };
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
