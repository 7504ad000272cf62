import { KIB } from '../../../base/units.js';
import type { CellMap } from '../cell-map.js';
import type { ControllerAddress } from './addresses.js';
import type { FrontOptions } from './front-options.js';
import { grpcFrontend } from './grpc-frontend.js';
import { httpFrontend } from './http-frontend.js';
import { type Routes, routesOf, type WeightedCell } from './routes.js';

/** The two files of a front: HAProxy reads the second from the folder of the first. */
interface FrontFiles {
  readonly config: string;
  readonly models: string;
}

export const CONFIG_FILE = 'haproxy.cfg';
export const MODELS_FILE = 'models.map';

/** Headers, and what HAProxy keeps free of a buffer, next to a message. */
const BESIDES_MESSAGE = 32 * KIB;

/**
 * What HAProxy 2.6 or newer needs to send each request to a cell that has its model: HTTP by the path, gRPC by the model's
 * name in the message. Throws `E_RESULTS` for models whose names it cannot tell apart.
 */
export function haproxyFiles(
  map: CellMap,
  addresses: ReadonlyMap<string, readonly ControllerAddress[]>,
  options: FrontOptions,
): FrontFiles {
  const routes = routesOf(map);
  const cells = map.cells.map(({ name }) => name);
  const sections = [
    globalSection(map, options),
    DEFAULTS,
    httpFrontend(cells, options),
    ...(options.grpcPort === null ? [] : [grpcFrontend(cells, { ...options, grpcPort: options.grpcPort })]),
    ...backends(routes, cells, addresses, options.grpcPort !== null),
  ];
  return {
    config: `${sections.join('\n\n')}\n`,
    models: [...routes.homeOf].map(([model, home]) => `${model} ${home}\n`).join(''),
  };
}

function globalSection({ escapement, name }: CellMap, { messageBytes, grpcPort }: FrontOptions): string {
  const comment = JSON.stringify(name);
  return `# Requests for ${comment} go to the cell that has their model: ${MODELS_FILE}, next to this file, says which.
# Written by escapement cells haproxy, from a map of version ${escapement}. For HAProxy 2.6 or newer.
global
  default-path config${
    grpcPort === null
      ? ''
      : `
  # Holds a whole gRPC message, in which the name of its model is found.
  tune.bufsize ${messageBytes + BESIDES_MESSAGE}`
  }`;
}

/**
 * A request that a controller may have got is not sent again: that is for clients. Connections that a controller cut while it
 * had a request are answered with 503, like everything that clients are to repeat; no controller says 502 itself.
 */
const DEFAULTS = `defaults
  mode http
  timeout connect 1s
  timeout client 5m
  timeout server 5m
  timeout http-request 30s
  timeout check 1s
  retries 2
  option redispatch 1
  default-server inter 250ms fall 3 rise 1
  http-error status 502 content-type application/json string '{"error":"the controller ended while it had the request; repeat it"}'
  http-error status 503 content-type application/json string '{"error":"no controller of the cell is ready; repeat the request"}'`;

function backends(
  { homes }: Routes,
  cells: readonly string[],
  addresses: ReadonlyMap<string, readonly ControllerAddress[]>,
  grpc: boolean,
): string[] {
  const servers = (of: readonly WeightedCell[], line: (server: Server) => string) =>
    of.flatMap(({ cell, weight }) =>
      addresses.get(cell)!.map((address, i) => line({ cell, weight, address, name: `controller-${i + 1}` })),
    );
  const all = cells.map((cell) => ({ cell, weight: 1 }));
  return [...homes, ['any', all] as const].flatMap(([home, of]) => {
    const checked = home === of[0]!.cell && of.length === 1;
    const http = [
      `backend ${home}-http`,
      ...(checked ? ['  option httpchk GET /v2/health/ready', '  http-check expect status 200'] : []),
      ...servers(of, (server) => httpServer(server, checked)),
    ];
    const overGrpc = [`backend ${home}-grpc`, ...servers(of, grpcServer)];
    return [http.join('\n'), ...(grpc ? [overGrpc.join('\n')] : [])];
  });
}

interface Server {
  readonly cell: string;
  readonly weight: number;
  /** Among the controllers of its cell. */
  readonly name: string;
  readonly address: ControllerAddress;
}

/** Each controller is checked once, in the backend of its cell; where else it occurs, that check counts. */
function httpServer({ cell, name, weight, address: { host, httpPort } }: Server, checked: boolean): string {
  const server = `  server ${checked ? name : `${cell}-${name}`} ${host}:${httpPort}`;
  return checked ? `${server} check` : `${server} weight ${weight} track ${cell}-http/${name}`;
}

function grpcServer({ cell, name, weight, address: { host, grpcPort } }: Server): string {
  return `  server ${cell}-${name} ${host}:${grpcPort} proto h2 weight ${weight} track ${cell}-http/${name}`;
}
