import { status } from '@grpc/grpc-js';
import { check } from '../finding.js';

/** Fails if a call that must not succeed did. */
export function checkRefused({ code, text }: { readonly code: number; readonly text: string }): void {
  check(code !== status.OK, `it ends with ${text}`);
  check(code !== status.DEADLINE_EXCEEDED, 'no answer came in time');
}
