import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EscapementError } from '../base/errors.js';
import { NS_PER_MS, NS_PER_S } from '../base/units.js';
import { ActionAudit, type ActionAuditOptions } from './action-audit.js';
import { CauseTally } from './causes.js';
import { actionClaims, type Claim, countedNs, fleetClaims, requestClaims, shareClaims } from './claims.js';
import { FleetAudit } from './fleet.js';
import { Lengths } from './lengths.js';
import { modelClaims } from './model-claims.js';
import { PipelineAudit } from './pipelines.js';
import { RequestAudit } from './request-audit.js';
import { Findings, RULES, type Rule, type Violation } from './rules.js';
import { type RunFacts, readRunFacts } from './run-facts.js';
import { SenderShares } from './sender-shares.js';
import { Served } from './served.js';

interface CheckOptions {
  /** Timing tolerance beyond the run's set-up, ns: live devices start when threads wake. */
  readonly slackNs: number;
}

/** Result of an audit, from the logs alone. */
export interface Audit {
  /** True if every claim holds, and no rule is broken. */
  readonly ok: boolean;
  /** `simulated`, `live` or `load`; null if run.json does not say. */
  readonly kind: string | null;
  readonly claims: readonly Claim[];
  readonly rules: readonly {
    readonly rule: Rule;
    readonly means: string;
    readonly checked: number;
    readonly violations: number;
  }[];
  /** The first ten violations, and their total number. */
  readonly violations: readonly Violation[];
  readonly violationCount: number;
  /** Claims that could not be checked, with reasons. */
  readonly unchecked: readonly string[];
}

/** Facts not about requests or actions, which no run's logs hold. */
export const NOT_IN_LOGS =
  'name, seed, policy, digest and wall time of the summary, the setup, data for charts only, and which models a worker has: not in the logs; ' +
  'windows, cost, intervals, figures of kinds of GPUs, GPU time of groups, models, lengths and pipelines, and causes of parts other than models and the limits of tenants: not recomputed';

/**
 * Recomputes the claims of run.json from requests.tsv and actions.tsv, and checks that the run obeyed the rules. Shares
 * no code with the program that made the claims. Logs are streamed: memory grows with the number of LOADs, not of
 * requests. Throws `E_RESULTS` for a folder without a run or with unreadable logs.
 */
export function checkRun(dir: string, { slackNs }: CheckOptions): Audit {
  const run = readRunFacts(dir);
  // A client does not see actions.
  const hasActions = run.summary.actions !== undefined;
  const paths = {
    requests: logOf(dir, 'requests.tsv', 'requestLog'),
    actions: hasActions ? logOf(dir, 'actions.tsv', 'actionLog') : '',
  };
  const findings = new Findings();
  const warmupNs = Math.round(run.windows[0].beginSeconds * NS_PER_S);
  const models = (run.setup?.pipelines && run.setup.modelPages?.length) ?? Number.POSITIVE_INFINITY;
  const lengths = lengthsOf(run);
  const about = { path: paths.requests, findings, warmupNs, firstUsers: run.setup?.firstUsers ?? [0] };
  const requests = new RequestAudit({ ...about, lengths, models });
  const order = PipelineAudit.open(run, findings, paths.requests, models);
  const clockSlackNs = (run.setup?.clockOffsetMs ?? 0) * NS_PER_MS + slackNs;
  const counted = countedNs(run.windows[0].beginSeconds, run.summary.durationSeconds);
  const sharesOf = (senders: readonly object[] | undefined) =>
    senders === undefined ? null : new SenderShares(...counted);
  const shares = { class: sharesOf(run.summary.by.class), tenant: sharesOf(run.summary.by.tenant) };
  const served = requests.namesActions ? new Served(findings, paths, clockSlackNs, lengths, shares) : null;
  const causes =
    hasActions &&
    served !== null &&
    run.summary.failures !== undefined &&
    run.setup?.modelInferMs !== undefined
      ? new CauseTally(served, run.setup.modelInferMs, findings, paths.requests)
      : null;
  const fleet = openFleet(dir, run, findings);
  const actions = hasActions
    ? openActions(run, {
        ...{ fleet, path: paths.actions, findings, served, causes, warmupNs, slackNs, clockSlackNs },
      })
    : null;
  try {
    requests.read((answer) => {
      if (actions === null) return;
      actions.readUntil(answer.nowNs);
      order?.answer(answer);
      if (!answer.isPipeline) served?.answer(answer);
      causes?.answer(answer);
    });
    actions?.readUntil(Number.POSITIVE_INFINITY);
    served?.finish();
  } finally {
    requests.close();
    actions?.close();
  }
  const claims = [
    ...requestClaims(run, requests),
    ...modelClaims(run, requests, causes),
    ...(order?.claims(run) ?? []),
    ...(served === null || !hasActions ? [] : shareClaims(run, shares)),
    ...(fleet === null ? [] : fleetClaims(run, fleet)),
    ...(actions === null ? [] : actionClaims(run, actions, fleet)),
  ];
  return {
    ok: findings.total === 0 && claims.every(({ ok }) => ok),
    kind: run.summary.kind ?? null,
    claims,
    rules: rulesFor(lengths, order, findings),
    violations: findings.first,
    violationCount: findings.total,
    unchecked: unchecked(run, requests, actions),
  };
}

/** Null: all inputs of a model have one length. */
function lengthsOf({ setup }: RunFacts): Lengths | null {
  const { modelLengths, padding } = setup ?? {};
  return modelLengths === undefined ? null : new Lengths(modelLengths, padding === 'longest');
}

/** Applicable rules: those about lengths and pipelines only for runs that have them. */
function rulesFor(
  lengths: Lengths | null,
  pipelines: PipelineAudit | null,
  findings: Findings,
): Audit['rules'] {
  const left = [...(lengths === null ? ['length'] : []), ...(pipelines === null ? ['pipeline'] : [])];
  return (Object.keys(RULES) as Rule[])
    .filter((rule) => !left.includes(rule))
    .map((rule) => ({
      ...{ rule, means: RULES[rule] },
      ...{ checked: findings.checks(rule), violations: findings.violations(rule) },
    }));
}

type Known = Pick<
  ActionAuditOptions,
  'path' | 'findings' | 'fleet' | 'served' | 'causes' | 'warmupNs' | 'slackNs' | 'clockSlackNs'
>;

/**
 * Opens the log of a fleet; null: all GPUs are there throughout. Throws `E_RESULTS` if the log of a varying fleet is
 * missing.
 */
function openFleet(dir: string, { summary, fleet }: RunFacts, findings: Findings): FleetAudit | null {
  if (fleet === undefined) return null;
  const path = logOf(dir, 'gpus.tsv', 'actionLog');
  const audit = new FleetAudit(path, summary.scaling === undefined);
  for (const { line, what } of audit.wrong) findings.violated('fleet', path, line, what);
  return audit;
}

/** Path of the log. Throws `E_RESULTS` if it is missing. */
function logOf(dir: string, log: string, key: string): string {
  const path = join(dir, log);
  if (existsSync(path)) return path;
  const what = `has no ${log}; run the experiment again with output.${key}: true`;
  throw new EscapementError('E_RESULTS', what, { file: dir });
}

function openActions({ setup, summary }: RunFacts, known: Known): ActionAudit {
  return new ActionAudit({
    ...known,
    endNs: known.warmupNs + Math.round(summary.durationSeconds * NS_PER_S),
    overheadNs: (setup?.overheadMs ?? 0) * NS_PER_MS,
    oneLane: setup?.oneLane ?? false,
    cachePagesOf: (worker, gpu) => cachePagesOf(setup, worker, gpu),
    pagesOf: (model) => setup?.modelPages?.[model] ?? 0,
  });
}

/** Pages of a GPU that the log names by its worker and its number there: GPUs are assigned to workers in blocks. */
function cachePagesOf(setup: RunFacts['setup'], worker: number, gpu: number): number {
  const { gpus, workers = 1, kinds, cachePages = Number.POSITIVE_INFINITY } = setup ?? {};
  if (kinds === undefined || gpus === undefined) return cachePages;
  let rest = Math.ceil((worker * gpus) / workers) + gpu;
  for (const kind of kinds) {
    if (rest < kind.gpus) return kind.cachePages;
    rest -= kind.gpus;
  }
  return cachePages;
}

function unchecked(
  { setup, summary }: RunFacts,
  requests: RequestAudit,
  actions: ActionAudit | null,
): string[] {
  return [
    ...(actions === null ? ['actions: a client recorded the run'] : []),
    ...(requests.namesActions ? [] : ['the INFER of each request: requests.tsv has no column action_id']),
    ...(summary.failures !== undefined && (actions === null || setup === undefined || !requests.namesActions)
      ? ['why requests failed: this needs both logs and the setup']
      : []),
    ...(setup === undefined ? ['pages, and the overlap of LOADs with INFERs: run.json has no setup'] : []),
    ...(setup === undefined && summary.by.group !== undefined ? ['groups: run.json has no setup'] : []),
    NOT_IN_LOGS,
  ];
}
