import { expect, it } from 'vitest';
import { scalingText } from '../../src/report/quantity.js';

it('says what a scaler paid for, and how often it changed its mind', () => {
  const figures = {
    scaler: 'predictive',
    gpuHours: 24,
    meanGpus: 1.25,
    mostGpus: 2,
    ordered: 24,
    stopped: 23,
  };
  expect(scalingText(figures)).toBe(
    'predictive: 24 GPU-hours, 1.25 GPUs on average, at most 2; 24 ordered, 23 stopped',
  );
});
