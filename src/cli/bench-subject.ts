import { MIB } from '../base/units.js';
import { readServerSettings } from '../config/server-settings.js';
import type { Subject } from '../tools/bench/subject.js';
import { type SettingsArgs, settingsSources, warningsOf } from './live-settings.js';
import { completeMachine } from './machine.js';
import { usageError } from './options.js';

/** Page size of `serve`. */
const PAGE_BYTES = 16 * MIB;

/** Flags that select the benchmarked models. */
interface SubjectArgs extends SettingsArgs {
  readonly repository: string | undefined;
  readonly device: string | undefined;
  readonly adapter: number;
}

/**
 * Models that `serve` would run with these flags, on this many GPUs. `say` gets lines for the operator. Throws coded errors.
 */
export async function openSubject(
  args: SubjectArgs,
  gpus: number,
  say: (what: string) => void,
): Promise<Subject> {
  const { repository, device = 'cpu', adapter } = args;
  if (repository === undefined && !device.startsWith('simulated:'))
    throw usageError(
      'nothing to measure: give --repository FOLDER, or with --vary gpus=1,2 --device simulated:PROFILE',
    );
  const loaded = await readServerSettings(settingsSources(args));
  for (const warning of warningsOf(loaded)) say(`warning: ${warning}`);
  const { settings, originOf } = loaded;
  const machine = await completeMachine(
    {
      ...{
        repository: repository === undefined ? [] : [repository],
        device,
        adapter,
        gpus,
        'page-size': PAGE_BYTES,
        copies: 1,
        'time-scale': 1,
      },
      ...{ 'cache-dir': undefined, memory: undefined, measure: 'full', budget: undefined },
    },
    settings.runtime,
    say,
  );
  const { models } = machine;
  return {
    ...machine,
    name: repository ?? models.map(({ spec }) => spec.name).join(', '),
    settings,
    sloNs: originOf('slo') === null ? null : settings.sloNs,
  };
}

/** Throws `E_USAGE` for a simulated device if stages are to be measured, one of which is the bare device. */
export function checkDevice({ devices: [device] }: Subject): void {
  if (device.kind === 'simulated')
    throw usageError(
      'the speed of a simulated device cannot be measured: give --device, e.g. --device cpu, or --vary gpus=1,2',
    );
}
