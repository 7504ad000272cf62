/** Why there is no shared memory. */
export const NO_SHARED_MEMORY =
  'shared memory is left out, as it trusts clients with memory of the server: send tensors raw';

/** Why clients change neither logs nor traces. */
export const NO_SETTINGS = 'logs and recordings are set up on the command line and through the metrics port';

/** Why a path of other servers of the protocol is left out here; null: it is none of those. */
export function whyLeftOut(path: string): string | null {
  if (/^\/v2\/(?:system|cuda)sharedmemory\//.test(path)) return NO_SHARED_MEMORY;
  return /^\/v2\/(?:logging|(?:models\/[^/]+\/)?trace\/setting)$/.test(path) ? NO_SETTINGS : null;
}
