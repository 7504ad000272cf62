import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ServerSettings } from '../config/server-settings.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import type { FrontendOptions } from '../live/frontend/frontend.js';
import type { CertificateGauges } from '../live/observe/telemetry/gauges.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { World } from '../live/world/world.js';
import type { DeploymentOptions } from './deployment-options.js';
import type { JoiningOptions } from './joining.js';

export interface ServerOptions {
  readonly world: World;
  readonly links: readonly WorkerLink[];
  /** With so many of them it starts. Default: all; one where workers may join. */
  readonly minWorkers?: number;
  /** How workers join by themselves; absent: none do. */
  readonly joining?: JoiningOptions;
  readonly settings: ServerSettings;
  /** Address that all frontends listen on. */
  readonly host: string;
  /** 0: any free one; null: no such frontend. */
  readonly httpPort: number | null;
  readonly grpcPort: number | null;
  readonly metricsPort: number | null;
  /** Whether the metrics port has a web page that shows what the server does. Default: no. */
  readonly ui?: boolean;
  /** Token, TLS and limits of both frontends. */
  readonly frontend: Omit<
    FrontendOptions,
    | 'port'
    | 'host'
    | 'defaultSloNs'
    | 'classes'
    | 'tenants'
    | 'serverVersion'
    | 'budget'
    | 'refusals'
    | 'sharesPort'
  >;
  /** Which models it runs. Default: all. */
  readonly deployment?: DeploymentOptions;
  /** Threads of each transport. */
  readonly frontends: number;
  /** Where to write all that enters the core; null: nowhere. */
  readonly journal: string | null;
  /** Most bytes that journals of that name may take together before the oldest are deleted; null: no limit. */
  readonly journalKeepBytes: number | null;
  readonly serverVersion: string;
  readonly log: Logger;
  /** Takes its metrics. Default: one that also has those of the process. */
  readonly registry?: Registry;
  /** A frontend's thread hangs, and cannot be ended: only another process helps. */
  readonly hung?: (what: string) => void;
  /** It listens; workers may be awaited. */
  readonly listening?: (ports: {
    readonly certificates: CertificateGauges;
    renew(tls: ServerTls): void;
  }) => void;
}
