import { FEWEST_REQUESTS } from '../../record/model-figures.js';
import { html, type Markup } from '../html/markup.js';
import { code, table } from '../html/parts.js';
import { isOnce, type PolicyComparison } from '../policies/compare.js';
import type { NamedSweep } from '../policies/merge.js';
import { REFERENCE } from '../policies/overview.js';
import { keyLabel } from '../quantity.js';
import { commandLine, quoted, setFlags } from '../reproduce.js';
import { ONE_SAMPLE } from '../statistics.js';

/** Methods behind the figures, and commands to reproduce them. */
export function methods(comparison: PolicyComparison, version: string): Markup {
  const { sweeps } = comparison;
  const experiments = [...new Set(sweeps.map(({ results }) => results.experiment))];
  return html`<ul>
${notes(comparison).map((note) => html`<li>${note}</li>\n`)}</ul>
<p>escapement ${version}, node ${process.versions.node}. The same seeds and configuration give the same results on any machine. To reproduce them, save the ${experiments.length === 1 ? 'experiment' : 'experiments'} below as <code>experiment.yaml</code> in a folder where its relative paths are valid, and run</p>
${code([...sweeps.map(sweepCommand), `escapement compare ${sweeps.map(({ name }) => quoted(name)).join(' ')}`].join('\n'))}
${experiments.map((experiment) => html`<details><summary>The experiment as written</summary>\n${code(experiment)}</details>\n`)}
${cellCounts(comparison)}`;
}

function notes({ cells, policies, bounded, completeCells }: PolicyComparison): string[] {
  const once = isOnce({ cells });
  const unbounded = cells.filter((cell) => !cell.bounded).length;
  const pairs = completeCells * policies.length;
  const tuned = policies.filter((policy) => policy.tuned.length > 0);
  return [
    bounded
      ? 'Percent of the bound: goodput of a run divided by the smallest known bound for its arrivals (seed) and GPUs. The bound is clairvoyant: it knows every arrival, has the weights of every model on every GPU, and has no delay or noise, so 100 % may be out of reach.'
      : 'No run has a bound: goodput is given as percent of the offered load, which may be out of reach.',
    ...(bounded && unbounded > 0
      ? [
          `In ${unbounded} of ${cells.length} cells no bound is known; the offered load, a weaker bound, takes its place (marked ≤).`,
        ]
      : []),
    `± is half the width of the 95 % confidence interval ${once ? `of ${ONE_SAMPLE}, so the interval comes from its time slices (circular block bootstrap)` : 'of the mean over seeds (Student’s t)'}; whiskers show the same; without one of either, a comparison is of single runs. For means over cells, the cells of each ${once ? 'slice' : 'seed'} are averaged first.`,
    `A policy is better than another if the mean of their differences, ${once ? 'time slice by time slice' : 'seed by seed'} on the same arrivals, is at least 0.1 % of the bound and its 95 % confidence interval excludes 0. A rank is 1 + the number of policies that are better, so several policies may share it; unbeaten means rank 1.`,
    `Each comparison is wrong in up to 2.5 % of cases in either direction; the ${pairs} ranks are not corrected for multiple comparisons.`,
    ...tuned.map(
      ({ name, tuned: keys }) =>
        `${name} takes in each cell the value of ${keys.map(keyLabel).join(' and ')} with the highest mean goodput, chosen with hindsight: an upper limit for hand tuning, not achievable in deployment.`,
    ),
    `LOADs are counted after the warm-up, whatever their result, and compared with ${tuned.find(({ kind }) => kind === REFERENCE)?.name ?? REFERENCE}.`,
    `Worst model ÷ average: attainment of the worst-served model among those with at least ${FEWEST_REQUESTS} requests in a run, divided by attainment over all requests; mean over seeds, lowest of all cells. Below half: below 0.5 by the same measure, in any seed.`,
  ];
}

function sweepCommand({ name, results: { vary, seeds, overrides } }: NamedSweep): string {
  const varied = vary.map(({ key, values }) => `--vary ${quoted(`${key}=${values.join(',')}`)}`);
  const flags = [...varied, ...setFlags(overrides), `--seeds ${seeds.join(',')}`];
  return commandLine('sweep', flags).replace(/results$/, quoted(name));
}

function cellCounts({ cells, policies }: PolicyComparison): Markup {
  const rows = cells.map(({ label, results }) => [
    { text: label },
    ...results.map((result) => ({ text: String(result?.share.n ?? 0) })),
  ]);
  return html`<details><summary>Runs of each cell and policy</summary>
<div class="dense">${table([{ title: 'Cell' }, ...policies.map(({ name }) => ({ title: name, numeric: true }))], rows)}</div></details>`;
}
