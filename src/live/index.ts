/// <reference types="node" preserve="true" />
export { Clock, monotonicNs } from '../base/clock/clock.js';
export type { WorkerCluster } from './controller/cluster-of-workers.js';
export type { FleetEvents } from './controller/fleet.js';
export { Fleet } from './controller/fleet.js';
export { RemoteLink } from './controller/link/remote-link.js';
export type { LinkEvents, WorkerLink } from './controller/link/worker-link.js';
export { LocalLink } from './controller/link/worker-link.js';
export { LiveController } from './controller/live-controller.js';
export type { CoreInputs, LiveControllerOptions } from './controller/live-controller-options.js';
export { fanOutEvents, type LiveEvents } from './controller/live-events.js';
export {
  DEFAULT_SESSION,
  type DeviceSpec,
  hasOneLane,
  PROVIDERS,
  type Provider,
  type SessionSettings,
} from './device.js';
export type { Frontend, FrontendOptions } from './frontend/frontend.js';
export { openGrpcFrontend } from './frontend/grpc-frontend.js';
export { openHttpFrontend } from './frontend/http-frontend.js';
export type { JournalHeader } from './journal/journal-header.js';
export { JournalWriter } from './journal/journal-writer.js';
export { type Replay, type ReplayOptions, replayJournal } from './journal/replay.js';
export type {
  ActionMessage,
  GpuDescription,
  ResultMessage,
  WorkerDescription,
  WorkerState,
} from './messages.js';
export {
  DATATYPES,
  type Datatype,
  type ModelSignature,
  type ServedModel,
  type TensorSignature,
  type WorkerModel,
} from './model.js';
export { type MadeModel, type MakeOptions, makeModel } from './models/make/make-model.js';
export { measureModel } from './models/measure/measure.js';
export { optimizeModel } from './models/optimize.js';
export { type RepositoryModel, readRepository } from './models/repository.js';
export { limitRuntimeCalls } from './ort/runtime-limit.js';
export type {
  InferenceAnswer,
  InferenceRequest,
  InferenceService,
  ModelEntry,
  ModelStatistics,
  SchedulingService,
  ServiceState,
  WatchedService,
} from './service.js';
export { serveMachine } from './worker/endpoint/worker-endpoint.js';
export { type MachineOptions, startMachine } from './worker/local-machine.js';
export type { Machine, MachineEvents } from './worker/machine.js';
