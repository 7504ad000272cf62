import { expect, it } from 'vitest';
import { seriesStyle } from '../../../src/report/charts/theme.js';

it('draws as many series as there are policies so that no two look alike, with or without color', () => {
  const styles = Array.from({ length: 10 }, (_, rank) => seriesStyle(rank));
  expect(new Set(styles.map(({ color }) => color)).size).toBe(10);
  expect(new Set(styles.map(({ dash, shape }) => `${shape} ${dash}`)).size).toBe(10);
});
