import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ServerSettings } from '../config/server-settings.js';
import type { WorkerLink } from '../live/controller/link/worker-link.js';
import type { FrontendOptions } from '../live/frontend/frontend.js';
import type { CertificateGauges } from '../live/observe/telemetry/certificates.js';
import type { Reading } from '../live/observe/telemetry/metrics.js';
import type { ServerTls } from '../live/wire/credentials.js';
import type { World } from '../live/world/world.js';
import type { DeploymentOptions } from './deployment-options.js';
import type { JoiningOptions } from './joining.js';

export interface ServerOptions {
  readonly world: World;
  readonly links: readonly WorkerLink[];
  /** Number of workers with which it starts. Default: all; one if workers may register. */
  readonly minWorkers?: number;
  /** Registration of workers; absent: disabled. */
  readonly joining?: JoiningOptions;
  readonly settings: ServerSettings;
  /** Address that all frontends listen on. */
  readonly host: string;
  /** 0: any free port; null: disabled. */
  readonly httpPort: number | null;
  readonly grpcPort: number | null;
  readonly metricsPort: number | null;
  /** Models with a label of their own in metrics. Default: `MOST_NAMED_MODELS`. */
  readonly metricsModels?: number;
  /** True if the metrics port has a web page that shows the server's activity. Default: no. */
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
    | 'apiErrors'
    | 'reusePort'
  >;
  /** Models to run. Default: all. */
  readonly deployment?: DeploymentOptions;
  /** Number of threads of each transport. */
  readonly frontends: number;
  /** Journal of all inputs of the core; null: none. */
  readonly journal: string | null;
  /** Limit on the total size of journals of that name, above which the oldest are deleted; null: none. */
  readonly journalKeepBytes: number | null;
  /**
   * Collector of OpenTelemetry that gets spans of requests, and the share of requests that begin a trace. Default: no
   * collector; the share of OTEL_TRACES_SAMPLER, or 1 %.
   */
  readonly otlp?: { readonly url: URL; readonly sample?: number | undefined } | undefined;
  readonly serverVersion: string;
  readonly log: Logger;
  /** Memory of the GPUs of its own process, by GPU and purpose; absent: it has none. */
  readonly gpuMemory?: () => Iterable<Reading>;
  /** Registry for its metrics. Default: one that also has those of the process. */
  readonly registry?: Registry;
  /** Called when a frontend's thread hangs. It cannot be ended: only another process helps. */
  readonly hung?: (what: string) => void;
  /** Called once it listens; workers may still be missing. */
  readonly listening?: (ports: {
    readonly certificates: CertificateGauges;
    renew(tls: ServerTls): void;
  }) => void;
}
