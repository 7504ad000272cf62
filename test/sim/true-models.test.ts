import { expect, test } from 'vitest';
import { trueModels } from '../../src/sim/true-models.js';
import { resnets } from './fixtures.js';

test('profiles that are right are the models', () => {
  const models = resnets(3);
  expect(trueModels(models, 0, 1)).toBe(models);
});

test('each model has one factor for all its durations, within the error, evenly spread', () => {
  const models = resnets(4000);
  const truly = trueModels(models, 0.15, 1);
  const factors = truly.map(({ execNs, loadNs }, i) => {
    const factor = loadNs / (models[i]?.loadNs as number);
    execNs.forEach((ns, b) => {
      expect(ns / (models[i]?.execNs[b] as number)).toBeCloseTo(factor, 5);
    });
    return factor;
  });
  expect(Math.min(...factors)).toBeGreaterThan(0.849);
  expect(Math.max(...factors)).toBeLessThan(1.151);
  for (const [limit, share] of [
    [0.925, 0.25],
    [1, 0.5],
    [1.075, 0.75],
  ] as const)
    expect(Math.abs(factors.filter((factor) => factor < limit).length / 4000 - share)).toBeLessThan(0.03);
});

test('factors by model are of its INFERs only', () => {
  const models = resnets(2);
  const [first, second] = trueModels(models, 0, 1, { 'resnet50-1': 1.5 });
  expect(first).toEqual(models[0]);
  expect(second?.execNs).toEqual(models[1]?.execNs.map((ns) => Math.round(1.5 * ns)));
  expect(second?.loadNs).toBe(models[1]?.loadNs);
});
