import { tokensMatch } from '../wire/credentials.js';
import { Refusal } from './refusal.js';

/** Lets in who shows the bearer token (RFC 6750). Without a token everybody may enter. */
export class TokenCheck {
  private readonly expected: string | null;

  constructor(token: string | null) {
    this.expected = token === null ? null : `Bearer ${token}`;
  }

  /** `authorization`: what the client sent under that name. Throws a refusal. */
  admit(authorization: string | undefined): void {
    if (this.expected === null || tokensMatch(authorization ?? '', this.expected)) return;
    throw new Refusal('unauthenticated', 'needs "authorization: Bearer TOKEN" with the token of this server');
  }
}
