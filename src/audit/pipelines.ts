import type { Answer } from './request-audit.js';
import type { Findings } from './rules.js';
import type { RunFacts } from './run-facts.js';

/** Steps of a pipeline's request, seen before its own answer. */
interface Flow {
  /** Arrival of the steps that wait for nothing; NaN: none was seen. */
  arrivalNs: number;
  failed: boolean;
  /** By step: last answer. */
  readonly endNs: Map<number, number>;
}

/** Checks the order of a pipeline's steps, and its answer against theirs. */
export class PipelineAudit {
  private readonly after: readonly (readonly number[])[];
  private readonly flows = new Map<number, Flow>();

  private constructor(
    pipelines: NonNullable<NonNullable<RunFacts['setup']>['pipelines']>,
    private readonly findings: Findings,
    /** Path of requests.tsv. */
    private readonly path: string,
  ) {
    let first = 0;
    this.after = pipelines.flatMap(({ steps }) => {
      const from = first;
      first += steps.length;
      return steps.map(({ after }) => after.map((step) => from + step));
    });
  }

  /** Null: the run has no pipelines. */
  static open({ setup }: RunFacts, findings: Findings, path: string): PipelineAudit | null {
    return setup?.pipelines === undefined ? null : new PipelineAudit(setup.pipelines, findings, path);
  }

  /** Records an answer, in order of time. */
  answer(answer: Answer): void {
    if (answer.parent >= 0) this.ofStep(answer);
    else if (answer.isPipeline) this.ofPipeline(answer);
  }

  private ofStep({ parent, step, nowNs, arrivalNs, executed, line }: Answer): void {
    const flow = this.flows.get(parent) ?? { arrivalNs: Number.NaN, failed: false, endNs: new Map() };
    this.flows.set(parent, flow);
    this.findings.check('pipeline');
    const after = this.after[step] ?? [];
    const ends = after.flatMap((before) => flow.endNs.get(before) ?? []);
    if (after.length === 0) flow.arrivalNs = arrivalNs;
    else if (ends.length > 0 && Math.max(...ends) !== arrivalNs)
      this.violated(line, `its step began ${arrivalNs - Math.max(...ends)} ns after those that it waits for`);
    flow.failed ||= !executed;
    flow.endNs.set(step, nowNs);
  }

  private ofPipeline({ id, nowNs, arrivalNs, executed, line }: Answer): void {
    const flow = this.flows.get(id);
    this.flows.delete(id);
    this.findings.check('pipeline');
    if (!executed) return;
    // If all steps are skipped, it ends on arrival.
    const lastNs = Math.max(arrivalNs, ...(flow?.endNs.values() ?? []));
    if (flow?.failed) this.violated(line, 'executed, but a request of its steps failed');
    else if (flow !== undefined && flow.arrivalNs !== arrivalNs)
      this.violated(line, 'its first step did not begin on arrival');
    else if (lastNs !== nowNs) this.violated(line, `answered ${nowNs - lastNs} ns after its last step`);
  }

  private violated(line: number, what: string): void {
    this.findings.violated('pipeline', this.path, line, what);
  }
}
