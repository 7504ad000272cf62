import { describe, expect, it } from 'vitest';
import type { ModelFairness } from '../../src/record/results.js';
import { failuresText, modelsText } from '../../src/report/generator.js';
import { SUMMARY } from '../record/fixtures.js';

describe('who failed, in words', () => {
  const fairness: ModelFairness = {
    worstModel: { name: 'vgg13', attainment: 0.02, offered: 35 },
    modelsBelow50: 30,
    modelsBelow90: 41,
    modelsAssessed: 305,
    rareModels: { models: 0, offered: 0, attainment: null },
  };

  it('names the worst model and counts those below half and below 90 %', () => {
    expect(modelsText(fairness)).toBe(
      'worst is vgg13 with 2.0 % of 35 in time; 30 of 305 models below 50 %, 41 below 90 %',
    );
  });

  const rareModels = { models: 303, offered: 2912, attainment: 0.381 };
  const worstModel = { name: 'vgg13', attainment: 0.9, offered: 35 };
  const fine = { ...fairness, worstModel, modelsBelow50: 0, modelsBelow90: 0 };
  const none = { ...fine, worstModel: null, modelsAssessed: 0 };

  it('tells what models with few requests got together, whatever the others got', () => {
    const rare = '303 with fewer than 20 requests: 38.1 % in time';
    expect(modelsText({ ...fairness, rareModels })).toMatch(
      /^worst is vgg13 .* 41 below 90 %; 303 with fewer/,
    );
    expect(modelsText({ ...fine, rareModels })).toBe(rare);
    expect(modelsText({ ...none, rareModels })).toBe(rare);
    expect(modelsText({ ...fine, rareModels: { ...rareModels, attainment: 0.9 } })).toBe('');
  });

  it('gives causes by how often they were, and is silent where nothing failed or no cause is known', () => {
    expect(failuresText(SUMMARY)).toBe(
      '50 (5.0 %): 20 late, 15 timed out in queue, 10 timed out cold, 5 refused',
    );
    const { failures: _, ...client } = SUMMARY;
    expect(failuresText(client)).toBe('');
    expect(failuresText({ ...SUMMARY, requests: { ...SUMMARY.requests, ok: 1000 } })).toBe('');
  });
});
