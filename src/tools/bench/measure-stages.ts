import type { ClientLoad } from './clients.js';
import type { DeviceStage, ServedStage, StageName } from './stage.js';
import { measureFull, measureIo, measureRemoteIo, measureSynthetic } from './stages.js';
import { benchSloNs, chosenBatches, type Subject } from './subject.js';

export interface MeasureOptions extends Pick<ClientLoad, 'protocol' | 'trials' | 'seconds' | 'clients'> {
  /** Measures IO with a worker process, too. */
  readonly remote: boolean;
  /** A stage begins. */
  onStage(stage: StageName): void;
}

/** What was measured of a subject. */
export interface MeasuredStages {
  readonly io: ServedStage;
  /** Null: it was not asked for. */
  readonly remote: ServedStage | null;
  readonly synthetic: DeviceStage;
  readonly full: ServedStage;
}

/** All stages of a subject, one after the other, never two at a time. */
export async function measureStages(
  subject: Subject,
  { remote: withRemote, onStage, ...how }: MeasureOptions,
): Promise<MeasuredStages> {
  const { models, mix } = subject;
  const batches = chosenBatches(subject);
  const sloNs = benchSloNs(subject, batches, how.clients);
  const load: ClientLoad = { ...how, models: models.map(({ spec }) => spec.name), mix, sloNs };
  onStage('io');
  const io = await measureIo(subject, load);
  if (withRemote) onStage('remote');
  const remote = withRemote ? await measureRemoteIo(subject, load) : null;
  onStage('synthetic');
  const synthetic = await measureSynthetic(subject, batches, load);
  onStage('full');
  const full = await measureFull(subject, load);
  return { io, remote, synthetic, full };
}
