import { NS_PER_US } from '../../base/units.js';

/** One operator in a profile of onnxruntime, in µs of that profile's own clock. */
interface LoggedOperator {
  readonly name: string;
  readonly operator: string;
  readonly provider: string;
  readonly beginUs: number;
  readonly tookUs: number;
}

/** One run of the session in that profile. */
interface LoggedRun {
  readonly beginUs: number;
  readonly tookUs: number;
  readonly operators: readonly LoggedOperator[];
}

/** A span of time by the machine's clock. */
export interface SpanNs {
  readonly beginNs: number;
  readonly endNs: number;
}

/**
 * Runs in a profile of onnxruntime, in order: a Chrome trace with one event per line, in which the nodes of a run
 * precede their `model_run`. On a GPU, nodes have the time it took to submit an operator. WebGPU's own times are at the
 * end (`Api`): they are used for runs that have any. Unreadable parts, such as the end of a file on a full disk, are
 * left out. A failed run has no `model_run`; nothing after the first of those is valid.
 */
export function readOperatorLog(text: string): LoggedRun[] {
  const runs: LoggedRun[] = [];
  const providers = new Map<string, string>();
  const onGpu: LoggedOperator[] = [];
  let nodes: LoggedOperator[] = [];
  for (const line of text.split('\n')) {
    const kind = MARKS.find((mark) => line.includes(mark));
    const event = kind === undefined ? null : parse(line);
    if (event === null) continue;
    const { ts: beginUs, dur: tookUs } = event;
    if (kind === RUN) {
      runs.push({ beginUs, tookUs, operators: nodes });
      nodes = [];
    } else if (kind === NODE) {
      const name = event.name.slice(0, -NODE_SUFFIX.length);
      const { op_name: operator = '', provider = '' } = event.args;
      providers.set(name, provider);
      nodes.push({ name, operator, provider, beginUs, tookUs });
    } else {
      // Node, its operator and the GPU's program.
      const [name, operator = ''] = event.name.split('&');
      onGpu.push({ name, operator, provider: providers.get(name) ?? '', beginUs, tookUs });
    }
  }
  return onGpu.length === 0 ? runs : runs.map((run) => withGpuTimes(run, onGpu));
}

function withGpuTimes(run: LoggedRun, onGpu: readonly LoggedOperator[]): LoggedRun {
  const endUs = run.beginUs + run.tookUs;
  const operators = onGpu.filter(({ beginUs }) => beginUs >= run.beginUs && beginUs <= endUs);
  return operators.length === 0 ? run : { ...run, operators };
}

/**
 * Offset of the times of each logged run, ns, so that it lies within the span in which it was measured to run. `logged`
 * and `measured` are the same runs; the measured ones enclose the logged ones. All runs of a log share a clock, so the
 * midpoint of the offsets valid for all of them is accurate to half of the shortest slack; if the clocks have drifted
 * so that no offset is valid for all, each run gets its valid one nearest to the median.
 */
export function alignRuns(
  logged: readonly Pick<LoggedRun, 'beginUs' | 'tookUs'>[],
  measured: readonly SpanNs[],
): number[] {
  const bounds = logged.map(({ beginUs, tookUs }, i) => ({
    leastNs: measured[i].beginNs - beginUs * NS_PER_US,
    mostNs: measured[i].endNs - (beginUs + tookUs) * NS_PER_US,
  }));
  const leastNs = Math.max(...bounds.map((bound) => bound.leastNs));
  const mostNs = Math.min(...bounds.map((bound) => bound.mostNs));
  const offsetNs =
    leastNs <= mostNs ? middle(leastNs, mostNs) : median(bounds.map((b) => middle(b.leastNs, b.mostNs)));
  return bounds.map((bound) =>
    bound.leastNs <= bound.mostNs
      ? Math.min(Math.max(offsetNs, bound.leastNs), bound.mostNs)
      : middle(bound.leastNs, bound.mostNs),
  );
}

const RUN = '"name" :"model_run"';
const NODE_SUFFIX = '_kernel_time';
const NODE = `${NODE_SUFFIX}","args"`;
const GPU = '"cat" : "Api"';
const MARKS = [NODE, RUN, GPU];

interface TraceEvent {
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly args: { readonly op_name?: string; readonly provider?: string };
}

function parse(line: string): TraceEvent | null {
  try {
    return JSON.parse(line.replace(/,\s*$/, ''));
  } catch {
    return null;
  }
}

function middle(leastNs: number, mostNs: number): number {
  return Math.round(leastNs + (mostNs - leastNs) / 2);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1];
}
