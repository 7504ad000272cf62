import type { History } from '../history/history.js';
import { type Check, Findings } from './finding.js';

/** No action begins outside its window, by the clock of the worker's machine, or twice. No lane runs two at a time. */
export const windows: Check = {
  name: 'windows',
  run({ events }: History) {
    const findings = new Findings('windows');
    /** By lane: the action that runs. */
    const running = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'executorStarted') {
        for (const gpu of event.gpus)
          for (const what of ['LOAD', 'INFER']) running.delete(`${event.process} ${gpu} ${what}`);
      }
      if (event.kind === 'ended') {
        for (const what of ['LOAD', 'INFER']) {
          const lane = `${event.process} ${event.gpu} ${what}`;
          if (running.get(lane) === event.action) running.delete(lane);
        }
      }
      if (event.kind !== 'began') continue;
      const { process, gpu, what, action, localNs, earliestNs, latestNs, atNs } = event;
      const who = `${what} ${action} of ${process}, GPU ${gpu},`;
      const concerns = (one: object) => 'action' in one && one.action === action;
      if (localNs > latestNs)
        findings.add(atNs, `${who} begins ${localNs - latestNs} ns after the end of its window`, concerns);
      if (localNs < earliestNs)
        findings.add(atNs, `${who} begins ${earliestNs - localNs} ns before its window`, concerns);
      const lane = `${process} ${gpu} ${what}`;
      const other = running.get(lane);
      if (other !== undefined) findings.add(atNs, `${who} begins while ${what} ${other} runs`, concerns);
      running.set(lane, action);
    }
    return findings.list;
  },
};
