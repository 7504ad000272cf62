import { it } from 'vitest';
import { play } from './play.js';
import { FRAME_FAULTS, LINK_FAULTS } from './scenarios/links.js';

it.each([
  ['clockwork', ['policy.kind=clockwork']],
  ['escapement', ['policy.kind=escapement']],
])('under %s, faults of links cost no request', { timeout: 900_000 }, async (_, settings) => {
  await play([...LINK_FAULTS, ...FRAME_FAULTS], { settings });
});
