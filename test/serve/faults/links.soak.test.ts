import { it } from 'vitest';
import { play } from './play.js';
import { LINK_FAULTS } from './scenarios/links.js';

it('faults of links cost no request', { timeout: 900_000 }, async () => {
  await play(LINK_FAULTS);
});
