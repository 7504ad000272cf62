import { type History, type HistoryEvent, nameOf, type ProcessLife } from '../history/history.js';
import type { Scenario } from '../scenario/scenario.js';
import { type Check, Findings } from './finding.js';

/**
 * Every request gets exactly one answer; at most one if the process that had it, or its frontend's thread, ended before, and not
 * because the process was asked to shut down: it has answered all by then.
 */
export const oneAnswer: Check = {
  name: 'one answer',
  run({ events, scenario }: History) {
    const findings = new Findings('one answer');
    const open = new Map<number, Extract<HistoryEvent, { kind: 'asked' }>>();
    const closed = new Map<number, string>();
    const stopped = new Set<ProcessLife>();
    for (const event of events) {
      if (event.kind === 'asked to stop') stopped.add(event.process);
      if (event.kind === 'asked') open.set(event.request, event);
      else if (event.kind === 'answered' || event.kind === 'refused') {
        const { request, atNs } = event;
        const before = closed.get(request);
        const how = event.kind === 'answered' ? event.outcome : 'refused';
        if (before !== undefined)
          findings.add(
            atNs,
            `request ${request} is answered again: ${how}, after ${before}`,
            concernsRequest(request),
          );
        else if (!open.delete(request))
          findings.add(atNs, `request ${request} is answered, and was not asked`, concernsRequest(request));
        closed.set(request, how);
      } else if (cutsClients(event) && !(stopped.has(event.process) && closesInOrder(event, scenario)))
        forget(open, closed, event.process);
    }
    const endNs = events.at(-1)?.atNs ?? 0;
    for (const { request, atNs, process, model } of open.values())
      findings.add(
        endNs,
        `request ${request} for ${model}, asked of ${process} at ${(atNs / 1e9).toFixed(6)} s, has no answer`,
        concernsRequest(request),
      );
    return findings.list;
  },
};

type Ended = Extract<HistoryEvent, { readonly kind: 'frontendEnded' | 'crashed' | 'died' | 'exited' }>;

function cutsClients(event: HistoryEvent): event is Ended {
  return ['frontendEnded', 'crashed', 'died', 'exited'].includes(event.kind);
}

/** Of a process that was asked to shut down. */
function closesInOrder(event: Ended, { faults }: Scenario): boolean {
  if (event.kind === 'exited') return event.why === 'status 0';
  if (event.kind !== 'frontendEnded') return false;
  return !faults.some(
    (fault) =>
      (fault.kind === 'threadDies' || fault.kind === 'threadHangs') &&
      fault.thread === 'frontend' &&
      fault.process === nameOf(event.process) &&
      fault.atNs <= event.atNs,
  );
}

/** Its clients were cut off. An answer that comes nevertheless is one of a request that was not asked. */
function forget(
  open: Map<number, Extract<HistoryEvent, { kind: 'asked' }>>,
  closed: Map<number, string>,
  process: ProcessLife,
): void {
  for (const [request, asked] of open)
    if (asked.process === process) {
      open.delete(request);
      closed.set(request, 'its connection was cut');
    }
}

function concernsRequest(request: number): (event: HistoryEvent) => boolean {
  return (event) => 'request' in event && event.request === request;
}
