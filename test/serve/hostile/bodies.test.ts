import { it } from 'vitest';
import { withstand } from './withstand.js';

it('a server answers everyone else next to 20 bodies of 60 MB at a time', async () => {
  await withstand('plain', [{ name: 'large binary bodies, honest', gets: /^(200|503)$/ }]);
});
