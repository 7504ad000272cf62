import { it } from 'vitest';
import { play } from './play.js';
import { FRAME_FAULTS, LINK_FAULTS } from './scenarios/links.js';

it('damaged frames, and late ones under a policy of narrow windows, cost no request', {
  timeout: 900_000,
}, async () => {
  const late = LINK_FAULTS.filter(({ name }) => /late|carries/.test(name));
  await play([...FRAME_FAULTS, ...late], { settings: ['policy.kind=clockwork'] });
});
