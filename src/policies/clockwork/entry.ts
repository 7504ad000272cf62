import { NS_PER_MS, NS_PER_S } from '../../base/units.js';
import { TIMELINE_FUTURE_NS } from '../../core/timeline.js';
import { MAX_BATCH } from '../common/options.js';
import { AUTO, type PolicyEntry } from '../entry.js';
import { AUTO_LATEST_DELTA_NS } from './auto-ahead.js';
import { ClockworkPolicy } from './policy.js';

export const clockworkEntry: PolicyEntry = {
  kind: 'clockwork',
  summary: 'plans every action ahead of time within windows; earliest required start first (OSDI 2020)',
  onKinds:
    'the paper has equal GPUs; here each action is planned with the times of its GPU, and demand is shared out by speed',
  weights: 'ignored',
  options: {
    scheduleAhead: {
      type: 'duration',
      default: 10 * NS_PER_MS,
      min: 0,
      auto: 'tuned at run time, from the errors of earlier plans',
      describe:
        'how far into the future each lane is booked; with a fixed value, a waiting request is given up 5 ms before its deadline, or scheduleAhead + 5 ms after its arrival if that is later',
    },
    latestDelta: {
      type: 'duration',
      min: 0,
      describe:
        'how long after its expected start an action may still start (default: scheduleAhead; 10ms if that is auto)',
    },
    maxBatch: MAX_BATCH,
    maxExec: {
      type: 'duration',
      default: NS_PER_S / 4,
      min: 1,
      describe: 'batch sizes that take longer than this are not used',
    },
  },
  whyServesNothing({ scheduleAhead }) {
    if (scheduleAhead === AUTO || (scheduleAhead as number) > TIMELINE_FUTURE_NS) return null;
    return 'clockwork would send nothing, because even an idle lane counts as booked 1 ms into the future: use more than 1ms, or auto';
  },
  create(context, options) {
    const { scheduleAhead } = options;
    const isAuto = scheduleAhead === AUTO;
    const latestDelta = options.latestDelta ?? (isAuto ? AUTO_LATEST_DELTA_NS : scheduleAhead);
    return new ClockworkPolicy(context, {
      scheduleAheadNs: isAuto ? null : (scheduleAhead as number),
      latestDeltaNs: latestDelta as number,
      maxBatch: options.maxBatch as number,
      maxExecNs: options.maxExec as number,
    });
  },
};
