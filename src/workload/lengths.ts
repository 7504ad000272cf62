import { EscapementError } from '../base/errors.js';
import { normal } from '../base/random/distributions.js';
import type { Random } from '../base/random/streams.js';
import type { Frame } from './frame.js';
import { BaseSource, type StreamedSource } from './source.js';
import type { ColumnSpec, LengthSpec, TokensSpec } from './spec.js';

/** Longest possible length; Infinity: only the trace knows. */
export function longestOf(spec: LengthSpec): number {
  switch (spec.kind) {
    case 'constant':
      return spec.value;
    case 'uniform':
      return spec.to;
    case 'list':
      return Math.max(...spec.values);
    case 'lognormal':
      return spec.max;
    case 'tokens':
    case 'column':
      return spec.max ?? Number.POSITIVE_INFINITY;
  }
}

/**
 * Adds a drawn length to each request of a workload. Throws `E_CONFIG_VALUE` if a model takes inputs of several lengths
 * and the workload gives none, or longer ones.
 */
export function withLengths(
  source: StreamedSource,
  spec: LengthSpec | undefined,
  frame: Frame,
): StreamedSource {
  if (spec === undefined) {
    const varied = frame.longest.findIndex((longest) => longest < Number.POSITIVE_INFINITY);
    if (varied < 0) return source;
    const what = `${frame.modelNames[varied]} takes inputs of several lengths: say how long those of this workload are`;
    throw new EscapementError('E_CONFIG_VALUE', what, frame.placeOf('length'));
  }
  checkLongest(longestOf(spec), frame);
  return spec.kind === 'tokens' || spec.kind === 'column'
    ? source
    : new LengthSource(source, drawOf(spec, frame.random('lengths')));
}

/** Throws `E_CONFIG_VALUE` if a model of the workload takes no inputs as long as `longest`. */
export function checkLongest(longest: number, frame: Frame): void {
  if (longest === Number.POSITIVE_INFINITY) return;
  const tooShort = frame.longest.findIndex((most) => most < longest);
  if (tooShort < 0) return;
  const what = `inputs as long as ${longest} are more than ${frame.modelNames[tooShort]} takes: its profile ends at ${frame.longest[tooShort]}`;
  throw new EscapementError('E_CONFIG_VALUE', what, frame.placeOf('length'));
}

function drawOf(spec: Exclude<LengthSpec, TokensSpec | ColumnSpec>, random: Random): () => number {
  switch (spec.kind) {
    case 'constant':
      return () => spec.value;
    case 'uniform':
      return () => spec.from + Math.floor(random() * (spec.to - spec.from + 1));
    case 'list':
      return () => spec.values[Math.floor(random() * spec.values.length)];
    case 'lognormal':
      return () => {
        const length = Math.round(spec.median * Math.exp(spec.sigma * normal(random)));
        return Math.min(spec.max, Math.max(1, length));
      };
  }
}

/** Adds a length to each request of a workload. */
class LengthSource extends BaseSource {
  readonly hasLengths = true;
  /** Present only if the workload needs answers. */
  readonly answered?: (user: number, nowNs: number) => void;

  constructor(
    private readonly whole: StreamedSource,
    private readonly draw: () => number,
  ) {
    super(whole.sloNs, whole.users);
    this.length = draw();
    if (whole.answered !== undefined) {
      this.answered = (user, nowNs) => {
        whole.answered?.(user, nowNs);
        this.follow();
      };
    }
    this.follow();
  }

  override advance(): void {
    this.whole.advance();
    this.length = this.draw();
    this.follow();
  }

  override async refill(): Promise<void> {
    await this.whole.refill();
    this.follow();
  }

  private follow(): void {
    const { whole } = this;
    this.starved = whole.starved;
    this.timeNs = whole.timeNs;
    this.model = whole.model;
    this.sloNs = whole.sloNs;
    this.user = whole.user;
  }
}
