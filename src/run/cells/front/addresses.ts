import { EscapementError } from '../../../base/errors.js';
import { nearest } from '../../../base/nearest.js';
import type { CellMap } from '../cell-map.js';

/** Where a controller of a cell listens. */
export interface ControllerAddress {
  /** IPv6 in brackets. */
  readonly host: string;
  readonly httpPort: number;
  readonly grpcPort: number;
}

const HTTP_PORT = 8000;
const GRPC_PORT = 8001;
const ADDRESS = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5})(?::(\d{1,5}))?)?$/;

/**
 * Reads `--cell cell-1=HOST[:HTTP[:GRPC]],…`, once for each cell of the map: its active controller and its standbys, in any
 * order. Throws `E_USAGE` for a cell that is missing, unknown or given twice, and for what is no address.
 */
export function readAddresses(
  flags: readonly string[],
  { cells }: Pick<CellMap, 'cells'>,
): ReadonlyMap<string, readonly ControllerAddress[]> {
  const names = cells.map(({ name }) => name);
  const found = new Map<string, readonly ControllerAddress[]>();
  for (const flag of flags) {
    const [name, list] = split(flag);
    if (!names.includes(name)) {
      const meant = nearest(name, names);
      throw usage(flag, `the map has no ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`);
    }
    if (found.has(name)) throw usage(flag, `${name} was given before: list its controllers with commas`);
    found.set(
      name,
      list.split(',').map((text) => addressOf(text.trim(), flag)),
    );
  }
  const missing = names.filter((name) => !found.has(name));
  if (missing.length === 0) return found;
  throw new EscapementError(
    'E_USAGE',
    `no address of ${missing.join(', ')}: give --cell ${missing[0]}=HOST,STANDBY`,
  );
}

function split(flag: string): [name: string, list: string] {
  const at = flag.indexOf('=');
  if (at > 0) return [flag.slice(0, at).trim(), flag.slice(at + 1)];
  throw usage(flag, 'write CELL=HOST,STANDBY, e.g. cell-1=10.0.0.1,10.0.0.2');
}

function addressOf(text: string, flag: string): ControllerAddress {
  const [, host, http = HTTP_PORT, grpc = GRPC_PORT] = ADDRESS.exec(text) ?? [];
  const ports = [Number(http), Number(grpc)] as const;
  if (host === undefined || ports.some((port) => port < 1 || port > 65_535)) {
    throw usage(flag, `"${text}" is no address: write HOST, HOST:HTTP_PORT or HOST:HTTP_PORT:GRPC_PORT`);
  }
  return { host, httpPort: ports[0], grpcPort: ports[1] };
}

function usage(flag: string, problem: string): EscapementError {
  return new EscapementError('E_USAGE', problem, { flag: `--cell ${flag}` });
}
