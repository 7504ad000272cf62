import { expect, it } from 'vitest';
import { scalingText } from '../../src/report/cost-text.js';

const FIGURES = { scaler: 'predictive', gpuHours: 24, meanGpus: 1, mostGpus: 2, ordered: 0, stopped: 0 };

it('says how long a GPU is kept, which shows a scaler that flaps', () => {
  // A GPU at a time for a day: 24 that come and go are there for an hour each, 480 for three minutes.
  expect(scalingText({ ...FIGURES, ordered: 24, stopped: 24 })).toBe(
    'predictive: 24 GPU-hours, 1 GPUs on average, at most 2; 24 ordered, 24 per day, and 24 stopped: each was kept for 60 min on average',
  );
  expect(scalingText({ ...FIGURES, ordered: 480, stopped: 480 })).toContain('each was kept for 3 min on');
  expect(scalingText({ ...FIGURES, ordered: 2880, stopped: 2880 })).toContain('kept for 30 s on');
  expect(scalingText({ ...FIGURES, ordered: 4, stopped: 0 })).toContain('kept for 12 h on');
  expect(scalingText(FIGURES)).toMatch(/; none ordered or stopped$/);
});

it('counts orders per day, also of a shorter run', () => {
  const twoHours = { ...FIGURES, gpuHours: 6, meanGpus: 3, ordered: 10, stopped: 9 };
  expect(scalingText(twoHours)).toContain('10 ordered, 120 per day, and 9 stopped');
});
