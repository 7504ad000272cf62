import { tokensMatch } from '../wire/credentials.js';
import { ApiError } from './api-error.js';

/** Lets in who shows the bearer token (RFC 6750). Without a token everybody may enter. */
export class TokenCheck {
  private readonly expected: string | null;

  constructor(token: string | null) {
    this.expected = token;
  }

  /** `authorization`: what the client sent under that name. Throws an `ApiError`. */
  admit(authorization: string | undefined): void {
    const { expected } = this;
    if (expected === null || (authorization !== undefined && isToken(authorization, expected))) return;
    throw new ApiError(
      'unauthenticated',
      'needs "authorization: Bearer TOKEN" with the token of this server',
    );
  }
}

/** The name of the scheme may be written in capitals or not (RFC 9110). */
function isToken(authorization: string, expected: string): boolean {
  return BEARER.test(authorization) && tokensMatch(authorization.slice('Bearer '.length), expected);
}

const BEARER = /^bearer /i;
