import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { NS_PER_MS } from '../../../src/base/units.js';
import { runCommandLine } from '../../../src/cli/command-line.js';
import type { Experiment } from '../../../src/config/experiment.js';
import { ON_DISK } from '../../../src/config/files-on-disk.js';
import { parseExperiment } from '../../../src/config/load.js';
import { profileFileName } from '../../../src/config/onnx-model.js';
import type { Profile } from '../../../src/config/profile.js';
import { readProfile } from '../../../src/config/read-profile.js';
import { DEFAULT_SESSION, hasOneLane, type Provider } from '../../../src/live/device.js';

/** A model that benchmarks run on real weights. */
export interface Subject {
  readonly name: string;
  readonly architecture: 'resnet18' | 'resnet50' | 'mobilenet-v2' | 'encoder';
  /** Side of its square input, pixels; of an encoder its longest text, tokens. */
  readonly input: number;
}

/** Where benchmarks keep their models, and what runs them. */
export interface Bench {
  readonly repository: string;
  readonly device: Provider;
  /** Measures a few runs of the smaller batch sizes only: for GPUs that are emulated. */
  readonly quick?: boolean;
}

/** The model with its profile on the device, made and measured by the commands that users have, unless it is there. */
export async function prepare(bench: Bench, subject: Subject): Promise<Profile> {
  const { repository, device } = bench;
  const { name } = subject;
  const file = await make(bench, subject);
  const profilePath = join(
    dirname(file),
    profileFileName({ kind: device, adapter: 0, session: DEFAULT_SESSION }),
  );
  if (!existsSync(profilePath)) {
    const measure = ['profile', 'measure', repository, '--model', name, '--device', device];
    await runCommandLine([...measure, ...(bench.quick ? ['--runs', '5', '--batch-sizes', '1,2'] : [])]);
  }
  return readProfile(profilePath, ON_DISK);
}

/** Path of the model, made unless it is there. */
export async function make({ repository }: Bench, { name, architecture, input }: Subject): Promise<string> {
  const file = join(repository, name, '1', 'model.onnx');
  if (!existsSync(file)) {
    const options = ['--repository', repository, '--name', name, '--input', String(input)];
    await runCommandLine(['model', 'make', architecture, ...options]);
  }
  return file;
}

/** An SLO that leaves room for a few INFERs of the largest batch. */
export function roomySloMs(profiles: readonly Profile[]): number {
  return Math.ceil(8 * Math.max(...profiles.map(({ batches }) => batches[batches.length - 1].medianMs)));
}

/**
 * Requests per second that one device serves at most, if it gets as many of each model, in their best batches, taking
 * turns.
 */
export function capacityRps(profiles: readonly Profile[]): number {
  const isShared = profiles.length > 1;
  const bestMs = profiles.map(({ batches }) =>
    Math.min(
      ...batches.map(
        ({ batch, medianMs, afterOtherMs }) => (isShared && afterOtherMs ? afterOtherMs : medianMs) / batch,
      ),
    ),
  );
  return (1000 * profiles.length) / bestMs.reduce((sum, ms) => sum + ms, 0);
}

/**
 * What simulation must know of a live machine in addition to the profiles: `delay` is how long an action is under way to
 * its worker and its result back, `overhead` from the time that a lane takes it up until it begins.
 */
export interface MachineDelays {
  readonly delayNs: number;
  readonly overheadNs: number;
}

interface BenchWorkload {
  readonly subjects: readonly Subject[];
  /** Requests go through all of them, one after the other. */
  readonly isChain?: boolean;
  /** Profile files, one a subject. Default: what `prepare` measured. */
  readonly profiles?: readonly string[];
  /** YAML of the workload section. */
  readonly workload: string;
  readonly sloMs: number;
  readonly seconds: number;
  readonly delays?: MachineDelays;
  readonly policy?: string;
  readonly admission?: 'none' | 'predict';
  readonly seed?: number;
}

export const WARM_UP_S = 2;

/** An experiment over benchmark models, for either clock. */
export function experimentOf(bench: Bench, load: BenchWorkload): Promise<Experiment> {
  const device = { kind: bench.device, adapter: 0, session: DEFAULT_SESSION };
  const { subjects, sloMs, delays = { delayNs: 0, overheadNs: 0 } } = load;
  const models = subjects.map(({ name }, i) => {
    const profile = load.profiles === undefined ? '' : `, profile: ${load.profiles[i]}`;
    return `  - { kind: onnx, name: ${name}, path: ${join(bench.repository, name)}${profile} }`;
  });
  const steps = subjects.map(({ name }, i) => {
    return `{ id: s${i}, model: ${name}${i === 0 ? '' : `, after: s${i - 1}`} }`;
  });
  const text = `seed: ${load.seed ?? 1}
cluster:
  gpus: 1
  memory: 2GiB
  lanes: ${hasOneLane(device) ? 'one' : 'two'}
  noise: { distribution: profile }
  network: { delay: ${Math.round(delays.delayNs)}ns }
  overhead: ${Math.round(delays.overheadNs)}ns
models:
${models.join('\n')}
${load.isChain ? `pipelines: { name: chain, steps: [${steps.join(', ')}] }\n` : ''}workload: ${load.workload}
slo: ${sloMs * NS_PER_MS}ns
warmup: ${WARM_UP_S}s
policy: ${load.policy ?? '{ kind: clockwork, scheduleAhead: 10ms }'}
admission: ${load.admission ?? 'none'}
live: { device: ${bench.device} }
`;
  return parseExperiment(text, 'bench.yaml');
}
