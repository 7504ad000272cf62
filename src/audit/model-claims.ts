import type { CauseTally } from './causes.js';
import { type Claim, exact, ratio } from './claims.js';
import type { RequestAudit, Tally } from './request-audit.js';
import type { RunFacts } from './run-facts.js';

/** Minimum number of requests for a model to be assessed. */
const FEWEST_REQUESTS = 20;

/**
 * Compares run.json's claims about models, and about why requests failed, with the logs. Lists every wrong figure of a
 * model, and the number of models with requests. `causes`: null if the logs lack them.
 */
export function modelClaims(run: RunFacts, requests: RequestAudit, causes: CauseTally | null): Claim[] {
  const { summary } = run;
  const { model: models } = summary.by;
  const seen = [...requests.by.model];
  const assessed = seen.filter(([, { offered }]) => offered >= FEWEST_REQUESTS);
  const rare = seen.filter(([, { offered }]) => offered < FEWEST_REQUESTS);
  const worst = worstModel(assessed);
  const worstIs = (name: string) => models.find(({ key }) => key === name)?.id ?? null;
  const below = (limit: number) => assessed.filter(([, { ok, offered }]) => ok / offered < limit).length;
  const ofRare = (of: 'offered' | 'ok') => rare.reduce((sum, [, tally]) => sum + tally[of], 0);
  const rareOffered = ofRare('offered');
  const counted = causes?.all;
  const wrong = models.flatMap((model) => causeClaims(model, causes)).filter(({ ok }) => !ok);
  return [
    ratio('worstModel id', summary.worstModel && worstIs(summary.worstModel.name), worst?.id ?? null),
    ratio('worstModel attainment', summary.worstModel?.attainment ?? null, worst?.attainment ?? null),
    ratio('worstModel offered', summary.worstModel?.offered ?? null, worst?.offered ?? null),
    exact('modelsBelow50', summary.modelsBelow50, below(0.5)),
    exact('modelsBelow90', summary.modelsBelow90, below(0.9)),
    exact('modelsAssessed', summary.modelsAssessed, assessed.length),
    exact('rareModels', summary.rareModels.models, rare.length),
    exact('rareModels offered', summary.rareModels.offered, rareOffered),
    ratio(
      'rareModels attainment',
      summary.rareModels.attainment,
      rareOffered === 0 ? null : ofRare('ok') / rareOffered,
    ),
    ...(summary.failures === undefined || counted === undefined
      ? []
      : Object.entries(counted).map(([cause, count]) =>
          exact(`failures ${cause}`, summary.failures?.[cause] ?? Number.NaN, count),
        )),
    exact('models', models.length, seen.length),
    ...wrong,
  ];
}

/** Model with the lowest attainment; ties go to the most requests, then to the first. */
function worstModel(assessed: readonly (readonly [id: number, Tally])[]) {
  const models = assessed.map(([id, { ok, offered }]) => ({ id, offered, attainment: ok / offered }));
  models.sort((a, b) => a.attainment - b.attainment || b.offered - a.offered || a.id - b.id);
  return models.length === 0 ? null : models[0];
}

function causeClaims(
  { id, key, failures }: RunFacts['summary']['by']['model'][number],
  causes: CauseTally | null,
): Claim[] {
  const counted = failures === undefined ? undefined : causes?.of(id);
  return Object.entries(counted ?? {}).map(([cause, count]) =>
    exact(`model ${key}: failures ${cause}`, failures?.[cause] ?? Number.NaN, count),
  );
}
