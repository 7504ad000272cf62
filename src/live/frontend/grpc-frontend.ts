import type { InferenceService } from '../service.js';
import { Arrivals } from './arrivals.js';
import { Budget, budgetLimits } from './budget.js';
import { Catalog } from './catalog.js';
import { QUEUE_TIMEOUT_MS } from './codec/codec-options.js';
import { CodecPool } from './codec/codec-pool.js';
import {
  type Frontend,
  type FrontendOptions,
  GRACE_MS,
  handshakePartMs,
  listen,
  renewTls,
  settle,
} from './frontend.js';
import { Bans } from './grpc/bans.js';
import { HealthMethods } from './grpc/health.js';
import { GrpcInfer } from './grpc/infer.js';
import { inferenceMethods } from './grpc/methods.js';
import { reflectionMethods } from './grpc/reflection.js';
import { RpcServer } from './grpc/server.js';
import { Protocols } from './grpc-messages.js';
import { RefusalCounts } from './refusal-counts.js';
import type { CutOff } from './slow-clients.js';
import { TokenCheck } from './token.js';
import { TurnedAway } from './turned-away.js';

/**
 * Opens the gRPC transport of the Open Inference Protocol (open-inference.proto). Throws `E_LISTEN` if the address
 * cannot be listened on and `E_TLS` for an unusable certificate.
 *
 * @example
 * const frontend = await openGrpcFrontend(service, { port: 8001, defaultSloNs: 100_000_000, serverVersion: '1.0.0' });
 * await frontend.close(true);
 */
export async function openGrpcFrontend(
  service: InferenceService,
  options: FrontendOptions,
  cutOff: CutOff = () => {},
  turnedAway = new TurnedAway(),
): Promise<Frontend> {
  const settings = settle(options);
  const { maxBodyBytes, tls } = settings;
  const arrivals = new Arrivals(() => service.nowNs());
  const catalog = new Catalog(service, settings);
  const codec = new CodecPool(CODEC);
  const refusals = new RefusalCounts(settings.refusals, 'grpc');
  const protocols = new Protocols();
  const health = new HealthMethods(service, protocols);
  const infer = new GrpcInfer(service, catalog, settings, codec, refusals, turnedAway);
  const server = new RpcServer({
    methods: new Map([
      ...inferenceMethods({ service, catalog, infer, maxBodyBytes, protocols }),
      ...health.methods,
      ...reflectionMethods(protocols),
    ]),
    token: new TokenCheck(settings.token),
    arrivals,
    budget: new Budget(budgetLimits(settings), settings.budget ?? undefined),
    refusals,
    bans: settings.maxClientRequests === null ? null : new Bans(),
    tls,
    handshakePartMs: handshakePartMs(settings),
    nowNs: () => service.nowNs(),
    cutOff,
    turnedAway,
  });
  server.listener.on('close', () => {
    arrivals.close();
    health.close();
  });
  const port = await listen(server.listener, 'gRPC', settings);
  return {
    port,
    close: (graceful) => close(server, codec, graceful),
    renew: (tls) => renewTls(server.listener, tls),
  };
}

const CODEC = { threads: 1, heapMib: 256, jobTimeoutMs: 10_000, queueTimeoutMs: QUEUE_TIMEOUT_MS };

async function close(server: RpcServer, codec: CodecPool, graceful: boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    const giveUp = setTimeout(() => server.destroyAll(), GRACE_MS);
    server.listener.close(() => {
      clearTimeout(giveUp);
      resolve();
    });
    // Calls under way are answered; then nothing is left that a connection could be open for.
    if (graceful) server.drain();
    else server.destroyAll();
  });
  await codec.close();
}
