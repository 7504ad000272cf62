import { readdirSync, readFileSync } from 'node:fs';
import type { Provider } from '../../live/device.js';
import type { Role } from './check.js';

/** Machine facts read by the checks; tests substitute recorded machines. */
export interface Host {
  /** Node's name for it: `linux`, `darwin`, … */
  readonly platform: string;
  /** `20.19.0` */
  readonly nodeVersion: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True if the C library is glibc, whose allocator has settings. */
  readonly isGlibc: boolean;
  /** Memory still available to this process, within the limits of its container; null if not reported. */
  readonly availableBytes: number | null;
  /** Text of a file; null if missing or unreadable. */
  read(path: string): string | null;
  /** Names in a folder; empty if it is missing. */
  list(path: string): readonly string[];
}

/** A machine, and its intended use. */
export interface Machine {
  readonly host: Host;
  readonly role: Role;
  readonly device: Provider;
  /** Size of the weights cache that must fit into the device's memory. */
  readonly cacheBytes: number;
}

/** The machine on which this process runs. */
export function thisHost(): Host {
  return {
    platform: process.platform,
    nodeVersion: process.versions.node,
    env: process.env,
    isGlibc: isGlibc(),
    // On macOS, free memory excludes reclaimable memory.
    availableBytes: process.platform === 'darwin' ? null : process.availableMemory(),
    read: (path) => orElse(() => readFileSync(path, 'utf8'), null),
    list: (path) => orElse(() => readdirSync(path), []),
  };
}

/** True in a container, whose kernel and login settings must be changed on its host. */
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

/** True if systemd boots the machine, so that its configuration folders have an effect. */
export function hasSystemd(host: Host): boolean {
  return host.list('/run/systemd').includes('system');
}

function isGlibc(): boolean {
  if (process.platform !== 'linux') return false;
  // Node has no other way to find out. Looking up names of network interfaces would take seconds.
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
