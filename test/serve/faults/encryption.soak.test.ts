import { it } from 'vitest';
import { newIdentity, noOpenssl } from './identities.js';
import { play } from './play.js';
import { encryptionFaults } from './scenarios/encryption.js';
import { LINK_FAULTS } from './scenarios/links.js';

it('faults of encrypted links, and of certificates, cost no request', { timeout: 900_000 }, async ({
  skip,
}) => {
  skip(noOpenssl, 'openssl, which makes the certificates, is not installed');
  const ours = newIdentity();
  const options = { linkTls: ours, clientTls: newIdentity() };
  await play(
    [...encryptionFaults(ours), ...LINK_FAULTS.filter(({ name }) => /ten times|at once|corrupts/.test(name))],
    options,
  );
});
