import type { History } from '../history/history.js';
import { expectedOf } from '../scenario/expected.js';
import { type Check, Findings } from './finding.js';

/**
 * Nothing is answered as executed that no device has executed: at each moment INFERs have ended well for at least so many requests,
 * of the steps of a pipeline each.
 */
export const executed: Check = {
  name: 'executed',
  run({ events, scenario }: History) {
    const findings = new Findings('executed');
    const asked = new Map<number, string>();
    /** INFERs that run, by device and action: model and requests. */
    const running = new Map<string, { readonly model: string; readonly count: number }>();
    const done = new Map<string, number>();
    const answered = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'asked') asked.set(event.request, event.model);
      else if (event.kind === 'began' && event.what === 'INFER') running.set(keyOf(event), event);
      else if (event.kind === 'ended') {
        const infer = running.get(keyOf(event));
        running.delete(keyOf(event));
        if (infer !== undefined && event.isOk) add(done, infer.model, infer.count);
      } else if (event.kind === 'answered' && (event.outcome === 'ok' || event.outcome === 'late')) {
        const name = asked.get(event.request) ?? '';
        for (const { models, count } of expectedOf(scenario.cluster, name, event.request).runs) {
          const [model, ...variants] = models;
          if (variants.length > 0) continue;
          const answers = add(answered, model, count);
          const executions = done.get(model) ?? 0;
          if (answers > executions)
            findings.add(
              event.atNs,
              `request ${event.request} for ${name} is answered "${event.outcome}", the ${answers}th for ${model}, and devices have executed ${executions}`,
              (one) => 'request' in one && one.request === event.request,
            );
        }
      }
    }
    return findings.list;
  },
};

function keyOf({ process, gpu, action }: { process: string; gpu: number; action: number }): string {
  return `${process} ${gpu} ${action}`;
}

function add(counts: Map<string, number>, key: string, count: number): number {
  const sum = (counts.get(key) ?? 0) + count;
  counts.set(key, sum);
  return sum;
}
