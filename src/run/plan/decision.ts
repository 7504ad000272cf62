import { CAUSE_LABELS, CAUSE_MEANINGS, CAUSES } from '../../record/causes.js';
import { parsePercentile } from '../../record/percentiles.js';
import type { Threshold } from '../../record/threshold.js';
import { priceText } from '../../report/cost-text.js';
import type { Section } from '../../report/document.js';
import { kindOfGpus } from '../../report/fleet-label.js';
import { formatCount, formatPercent, round3, significant } from '../../text/numbers.js';
import { capital, listed } from '../../text/words.js';
import { isFleetPlan, type Plan, shownOf, type Tried, type WhatIfs } from './plan-result.js';
import { scenarioTable, triedTable } from './table.js';
import { confidenceLines, estimateText, headroomText, intervalsOf, marginText } from './words.js';

/** A plan whose answer was run in scenarios. */
type Decided = Plan & { readonly whatIfs: WhatIfs };

/** Choices shown on each side of the answer. */
const NEIGHBOURS = 2;

/** Parts of the page for somebody who decides: the answer first, in words for who has not used the tool. */
export class Decision {
  private readonly answer: Tried;
  private readonly intact: string;

  constructor(private readonly plan: Decided) {
    this.answer = shownOf<Tried>(plan)!;
    this.intact = plan.survives ? ' with all GPUs there' : '';
  }

  /** `Rent 1 × a10: 1.01 per hour, 4.97 per million requests answered in time`. */
  get title(): string {
    const { plan } = this;
    if (!isFleetPlan(plan) && kindOfGpus(plan.over.key) === null && plan.over.key !== 'cluster.gpus')
      return plan.headline;
    const { costPerHour } = this.answer;
    const { costPerMillion } = plan.whatIfs.scenarios[0]!;
    const costs = [
      ...(costPerHour === undefined ? [] : [`${priceText(costPerHour)} per hour`]),
      ...(costPerMillion == null
        ? []
        : [`${priceText(costPerMillion)} per million requests answered in time${this.intact}`]),
    ];
    return `Rent ${this.answer.name}${costs.length === 0 ? '' : `: ${costs.join(', ')}`}`;
  }

  get lead(): string[] {
    const { plan, answer } = this;
    const { targets, survives, policy, whatIfs } = plan;
    const { durationSeconds, offered } = answer.details!;
    const met = targets.map((target, i) => {
      const margin = marginText(target, answer.figures[i]!);
      return `${wordsOf(target)} (found: ${estimateText(target, answer.figures[i]!)}${margin === '' ? '' : `, ${margin}`})`;
    });
    const after = answer.lost === undefined ? '' : ` in which ${isLost(answer.lost)}`;
    const { headroom, assumed } = whatIfs;
    const [, traffic] = assumed.find(([about]) => about === 'traffic')!;
    const lost = whatIfs.scenarios.filter(({ value }) => / lost$/.test(value));
    return [
      `With the scheduler ${policy} it answers ${listed(met)} in a simulation of ${formatCount(Math.round(offered))} requests over ${round3(durationSeconds)} s${after}`,
      ...(headroom === null
        ? []
        : [`Headroom over ${traffic}${this.intact}: ${headroomText(null, headroom)}`]),
      ...(survives
        ? ['The target also holds after the loss of any one GPU']
        : lost.map((one) => `If ${isLost(one.value)}, ${lossText(one)}`)),
    ];
  }

  get sections(): Section[] {
    const { plan } = this;
    const { targets, whatIfs } = plan;
    const choices = this.choices();
    const margins = choices.map(({ figures }) =>
      targets
        .flatMap((target, i) => (figures[i] === undefined ? [] : marginText(target, figures[i])))
        .join('; '),
    );
    const table = triedTable({ ...plan, tried: choices } as Plan);
    return [
      {
        title: 'What to set',
        blocks: [
          { text: 'In the file of the experiment, from which a server takes the policy:' },
          { code: whatIfs.setup },
        ],
      },
      {
        title: 'The next smaller and larger choices',
        blocks: [
          {
            table: {
              ...table,
              columns: [...table.columns, { title: 'margin, or miss', wraps: true }],
              rows: table.rows.map(([name, ...cells], i) => [
                { ...name!, strong: choices[i] === this.answer },
                ...cells,
                { text: margins[i]! },
              ]),
            },
          },
        ],
      },
      {
        title: 'What if?',
        blocks: [{ table: scenarioTable(targets, whatIfs.scenarios) }, { text: SCENARIOS, tone: 'small' }],
      },
      ...this.suffering(),
      { title: 'How certain it is', blocks: [{ text: this.certainty().join('. ') }] },
      { title: 'What was assumed', blocks: [{ list: whatIfs.assumed }] },
    ];
  }

  private certainty(): string[] {
    const { plan } = this;
    const interval = intervalsOf({ ...plan, tried: [...plan.tried, ...plan.whatIfs.scenarios] });
    return [
      ...(interval === null ? [] : [`± is the ${interval}; it counts only what varies between them`]),
      ...(isFleetPlan(plan) ? confidenceLines(plan).map(capital) : []),
      ...plan.notes.map(capital),
      'Nothing here was measured on a real cluster: run the answer before it is relied on',
      '',
    ];
  }

  private choices(): Tried[] {
    const { tried } = this.plan;
    const at = (tried as readonly Tried[]).indexOf(this.answer);
    return tried.slice(Math.max(0, at - NEIGHBOURS), at + NEIGHBOURS + 1);
  }

  /** Models and pipelines that fail first when there is more traffic than the answer can take. */
  private suffering(): Section[] {
    const [, over] = edges(this.plan.whatIfs);
    const worst = over?.details?.worst.filter(({ failed }) => failed > 0) ?? [];
    if (over === undefined || worst.length === 0) return [];
    const rows = worst.map(({ name, attainment, failed, causes }) => {
      const [first] = CAUSES.toSorted((a, b) => causes[b] - causes[a]) as [keyof typeof causes];
      const why = `${CAUSE_LABELS[first]} (${formatCount(causes[first])}): ${CAUSE_MEANINGS[first]}`;
      return [name, formatPercent(attainment), formatCount(failed), why].map((text) => ({ text }));
    });
    const columns = [
      { title: 'model' },
      { title: 'in time', numeric: true },
      { title: over.cells.length > 1 ? 'not in time, all seeds' : 'not in time', numeric: true },
      { title: 'most of them', wraps: true },
    ];
    const text = `With ${over.value}, the first factor that misses:`;
    return [{ title: 'Which suffer first', blocks: [{ text }, { table: { columns, rows } }] }];
  }
}

const SCENARIOS =
  'Baseline: the answer as it is. Traffic × k: k times the requests, with their bursts. A GPU is lost for good at the end of ' +
  'the warm-up, or after a tenth of the run, and requests count from then on. Profiles 20 % slower: each batch takes 20 % ' +
  'longer than was measured. p99: 99 % of the requests were answered within this time; never: too few were answered in time.';

/** The last factor of the traffic that holds, and the first that misses, if there are such. */
function edges({ headroom }: WhatIfs): Tried[] {
  const at = (factor: number | null | undefined) =>
    headroom?.tried.find(({ value }) => value === (factor === 1 ? 'baseline' : `traffic × ${factor}`));
  return [at(headroom?.holds), at(headroom?.misses)].flatMap((one) => one ?? []);
}

/** `at least 99 % of the requests in time`, `99 % of the requests within 50 ms`; others as they are written. */
function wordsOf({ metric, operator, limit, text }: Threshold): string {
  if (metric === 'attainment' && operator === '>=')
    return `at least ${significant(100 * limit, 6)} % of the requests in time`;
  const named = parsePercentile(metric);
  if (named?.reading === 'offered' && operator.startsWith('<'))
    return `${named.percentile} % of the requests within ${significant(limit, 6)} ms`;
  return `requests with ${text}`;
}

/** A loss as a clause: `one l4 is lost`. */
function isLost(name: string): string {
  return name.replace(/ lost$/, ' is lost');
}

function lossText({ meets, attainment }: Tried): string {
  const verdict = {
    yes: 'the target still holds',
    unsure: 'the target holds only on average',
    no: 'the target no longer holds',
  }[meets];
  return attainment === null ? verdict : `${verdict}, with ${formatPercent(attainment)} in time`;
}
