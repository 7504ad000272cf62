import type { CauseTally } from './causes.js';
import { type Claim, exact, ratio } from './claims.js';
import type { RequestAudit } from './request-audit.js';
import type { RunFacts } from './run-facts.js';

/** Minimum number of requests for a model to be assessed. */
const FEWEST_REQUESTS = 20;

/**
 * Compares run.json's claims about models, and about why requests failed, with the logs. Lists every wrong figure of a
 * model, and the number of models with requests. `causes`: null if the logs lack them.
 */
export function modelClaims(run: RunFacts, requests: RequestAudit, causes: CauseTally | null): Claim[] {
  const { summary, models } = run;
  const { offeredByModel, okByModel } = requests;
  const shares = offeredByModel.flatMap((offered, model) =>
    offered < FEWEST_REQUESTS ? [] : [okByModel[model] / offered],
  );
  const worst = worstModel(requests);
  const worstIs = (name: string) => models.find((model) => model.name === name)?.id ?? null;
  const below = (limit: number) => shares.filter((share) => share < limit).length;
  const seen = offeredByModel.filter((offered) => offered > 0).length;
  const rare = offeredByModel.map((offered) => offered > 0 && offered < FEWEST_REQUESTS);
  const ofRare = (counts: readonly number[]) =>
    counts.reduce((sum, count, model) => (rare[model] ? sum + count : sum), 0);
  const rareOffered = ofRare(offeredByModel);
  const counted = causes?.all;
  const wrong = models.map((model) => rowClaims(model, requests, causes).filter(({ ok }) => !ok));
  return [
    ratio('worstModel id', summary.worstModel && worstIs(summary.worstModel.name), worst?.id ?? null),
    ratio('worstModel attainment', summary.worstModel?.attainment ?? null, worst?.attainment ?? null),
    ratio('worstModel offered', summary.worstModel?.offered ?? null, worst?.offered ?? null),
    exact('modelsBelow50', summary.modelsBelow50, below(0.5)),
    exact('modelsBelow90', summary.modelsBelow90, below(0.9)),
    exact('modelsAssessed', summary.modelsAssessed, shares.length),
    exact('rareModels', summary.rareModels.models, seen - shares.length),
    exact('rareModels offered', summary.rareModels.offered, rareOffered),
    ratio(
      'rareModels attainment',
      summary.rareModels.attainment,
      rareOffered === 0 ? null : ofRare(okByModel) / rareOffered,
    ),
    ...(summary.failures === undefined || counted === undefined
      ? []
      : Object.entries(counted).map(([cause, count]) =>
          exact(`failures ${cause}`, summary.failures?.[cause] ?? Number.NaN, count),
        )),
    exact('models', models.length, seen),
    ...wrong.flat(),
  ];
}

/** Assessed model with the lowest attainment; ties go to the most requests, then to the first. */
function worstModel({ offeredByModel, okByModel }: RequestAudit) {
  const assessed = offeredByModel.flatMap((offered, id) =>
    offered < FEWEST_REQUESTS ? [] : [{ id, offered, attainment: okByModel[id] / offered }],
  );
  assessed.sort((a, b) => a.attainment - b.attainment || b.offered - a.offered || a.id - b.id);
  return assessed.length === 0 ? null : assessed[0];
}

function rowClaims(
  { id, name, offered, ok, coldStarts, failures }: RunFacts['models'][number],
  { offeredByModel, okByModel, coldByModel }: RequestAudit,
  causes: CauseTally | null,
): Claim[] {
  const counted = failures === undefined ? undefined : causes?.of(id);
  return [
    exact(`${name}: offered`, offered, offeredByModel[id] ?? 0),
    exact(`${name}: ok`, ok, okByModel[id] ?? 0),
    ...(coldStarts === undefined ? [] : [exact(`${name}: coldStarts`, coldStarts, coldByModel[id] ?? 0)]),
    ...Object.entries(counted ?? {}).map(([cause, count]) =>
      exact(`${name}: failures ${cause}`, failures?.[cause] ?? Number.NaN, count),
    ),
  ];
}
