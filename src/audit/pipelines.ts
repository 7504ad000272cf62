import { type Claim, exact, ratio } from './claims.js';
import type { Answer } from './request-audit.js';
import type { Findings } from './rules.js';
import type { Figures, RunFacts } from './run-facts.js';

/** Steps of a pipeline's request, seen before its own answer. */
interface Flow {
  /** Arrival of the steps that wait for nothing; NaN: none was seen. */
  arrivalNs: number;
  failed: boolean;
  /** By step: last answer. */
  readonly endNs: Map<number, number>;
  /** By step with variants: accuracy of the models that served it. */
  readonly accuracies: Map<number, number[]>;
}

type PipelineFacts = NonNullable<NonNullable<RunFacts['setup']>['pipelines']>;

/** Checks the order of a pipeline's steps, and its answer against theirs. */
export class PipelineAudit {
  private readonly steps: PipelineFacts[number]['steps'];
  private readonly after: readonly (readonly number[])[];
  /** By step, and by pipeline: accuracies of answers in time. */
  private readonly ofSteps: readonly number[][];
  private readonly ofPipelines: readonly number[][];
  /** By step: requests of its pipeline that failed there. */
  private readonly failed: number[];
  private readonly flows = new Map<number, Flow>();

  private constructor(
    pipelines: PipelineFacts,
    private readonly findings: Findings,
    /** Path of requests.tsv. */
    private readonly path: string,
    /** Number of the first pipeline, after all models. */
    private readonly models: number,
  ) {
    this.steps = pipelines.flatMap(({ steps }) => steps);
    this.ofSteps = this.steps.map(() => []);
    this.ofPipelines = pipelines.map(() => []);
    this.failed = this.steps.map(() => 0);
    let first = 0;
    this.after = pipelines.flatMap(({ steps }) => {
      const from = first;
      first += steps.length;
      return steps.map(({ after }) => after.map((step) => from + step));
    });
  }

  /** Null: the run has no pipelines. */
  static open({ setup }: RunFacts, findings: Findings, path: string, models: number): PipelineAudit | null {
    return setup?.pipelines === undefined ? null : new PipelineAudit(setup.pipelines, findings, path, models);
  }

  /** Records an answer, in order of time. */
  answer(answer: Answer): void {
    if (answer.parent >= 0) this.ofStep(answer);
    else if (answer.isPipeline) this.ofPipeline(answer);
  }

  /** Claims about the accuracy of answers. */
  claims({ summary }: RunFacts): Claim[] {
    const { pipeline = [], step = [] } = summary.by;
    const claims = (prefix: string, figures: Figures, all: readonly number[]) => {
      const { accuracy, accurateAttainment, requests } = figures;
      if (accuracy === undefined && all.length === 0) return [];
      const mean = all.length === 0 ? null : all.reduce((sum, each) => sum + each) / all.length;
      return [
        ratio(`${prefix}accuracy`, accuracy ?? null, mean),
        ratio(
          `${prefix}accurateAttainment`,
          accurateAttainment ?? null,
          mean === null ? null : (mean * requests.ok!) / requests.offered!,
        ),
      ];
    };
    return [
      ...claims('', summary, this.ofPipelines.flat()),
      ...pipeline.flatMap((each, i) => claims(`pipeline ${each.key}: `, each, this.ofPipelines[i]!)),
      ...step.flatMap((each, i) => [
        ...claims(`step ${each.key}: `, each, this.ofSteps[i]!),
        exact(`step ${each.key}: failedHere`, each.failedHere ?? 0, this.failed[i]!),
      ]),
    ];
  }

  private ofStep({ parent, step, model, nowNs, arrivalNs, executed, inTime, counted, line }: Answer): void {
    const flow = this.flows.get(parent) ?? {
      ...{ arrivalNs: Number.NaN, failed: false, endNs: new Map(), accuracies: new Map() },
    };
    this.flows.set(parent, flow);
    const of = this.steps[step];
    const variant = of?.variants?.find((each) => each.model === model);
    if (variant === undefined && (of?.variants !== undefined || of?.model !== model))
      this.violated(line, `model ${model} does not serve its step`);
    if (variant !== undefined) {
      flow.accuracies.set(step, [...(flow.accuracies.get(step) ?? []), variant.accuracy]);
      if (inTime && counted) this.ofSteps[step]!.push(variant.accuracy);
    }
    this.findings.check('pipeline');
    const after = this.after[step] ?? [];
    const beginNs = Math.max(...after.map((before) => this.endOf(flow, before)));
    if (after.length === 0) flow.arrivalNs = arrivalNs;
    else if (beginNs > Number.NEGATIVE_INFINITY && beginNs !== arrivalNs)
      this.violated(line, `its step began ${arrivalNs - beginNs} ns after those that it waits for`);
    flow.failed ||= !executed;
    flow.endNs.set(step, nowNs);
  }

  /** End of a step; one without requests ends with those that it waits for. */
  private endOf(flow: Flow, step: number): number {
    const endNs =
      flow.endNs.get(step) ?? Math.max(...this.after[step]!.map((before) => this.endOf(flow, before)));
    flow.endNs.set(step, endNs);
    return endNs;
  }

  private ofPipeline({
    id,
    step,
    model,
    nowNs,
    arrivalNs,
    executed,
    cancelled,
    inTime,
    counted,
    line,
  }: Answer): void {
    const flow = this.flows.get(id);
    this.flows.delete(id);
    this.findings.check('pipeline');
    if (!executed && counted && !cancelled && step >= 0) this.failed[step]!++;
    if (!executed) return;
    if (inTime && counted && flow !== undefined && flow.accuracies.size > 0)
      this.ofPipelines[model - this.models]!.push(
        [...flow.accuracies.values()].reduce(
          (product, each) => (product * each.reduce((sum, one) => sum + one, 0)) / each.length,
          1,
        ),
      );
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
