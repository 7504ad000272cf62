export { Clock, monotonicNs } from './clock.js';
export type { WorkerCluster } from './controller/cluster-of-workers.js';
export { Fleet } from './controller/fleet.js';
export {
  type CoreInputs,
  LiveController,
  type LiveControllerOptions,
} from './controller/live-controller.js';
export { type LiveEvents, NO_EVENTS } from './controller/live-events.js';
export {
  DEFAULT_SESSION,
  type DeviceSpec,
  hasOneLane,
  PROVIDERS,
  type Provider,
  type SessionSettings,
} from './device.js';
export type { Door, DoorOptions } from './door/door.js';
export { openGrpcDoor } from './door/grpc-door.js';
export { openHttpDoor } from './door/http-door.js';
export type { JournalHeader } from './journal/journal-header.js';
export { JournalWriter } from './journal/journal-writer.js';
export { type Replay, replayJournal } from './journal/replay.js';
export { openTarget } from './load/open-target.js';
export { play } from './load/player.js';
export { openServiceTarget } from './load/service-target.js';
export { type MachineOptions, startMachine } from './machine/local-machine.js';
export type { Machine, MachineEvents } from './machine/machine.js';
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
export { makeModel } from './models/make/make-model.js';
export { optimizeModel } from './models/optimize.js';
export { type RepositoryModel, readRepository } from './models/repository.js';
export { measureModel } from './profile/measure.js';
export type { InferenceAnswer, InferenceRequest, InferenceService } from './service.js';
export { LocalWorker } from './transport/local-worker.js';
export { RemoteWorker } from './transport/remote-worker.js';
export { serveMachine } from './transport/worker-server.js';
export type { WorkerEvents, WorkerLink } from './worker-link.js';
